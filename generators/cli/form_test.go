package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/mcpcli"
)

// Arguments and flags become the input that the schema describes.
func TestForm(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"name":{"type":"string"},"size":{"type":"integer"},"deep":{"type":["boolean","null"]},"ports":{"type":"array","items":{"type":"integer"}},
		"note":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}},"most":{"type":"number"},"any":{},"by_name":{"type":"object"},"dir":{"type":"string"}},
		"required":["name","size","deep"]}`
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"5", "7", "true"}, `{"deep":true,"name":"5","size":7}`},
		{[]string{"a", "x", "true", "80", "x"}, `{"deep":true,"name":"a","ports":[80,"x"],"size":"x"}`}, // the schema refuses it
		{[]string{"a", "1", "false", "--tags", "1", "--tags", "b,c", "--note", "null", "--most", "1.5"},
			`{"deep":false,"most":1.5,"name":"a","note":null,"size":1,"tags":["1","b,c"]}`},
		{[]string{"a", "1", "true", "80", "--ports", "81"}, `{"deep":true,"name":"a","ports":[80,81],"size":1}`},
		{[]string{"a", "1", "true", "--dir", "x", "--input-dir", "y"}, `{"deep":true,"dir":"y","name":"a","size":1}`},
		{[]string{"a", "1", "true", "--any", "[1]", "--by-name", `{"a":1}`}, `{"any":[1],"by_name":{"a":1},"deep":true,"name":"a","size":1}`},
	} {
		f := newForm([]byte(schema))
		got := ""
		cmd := &cobra.Command{RunE: func(cmd *cobra.Command, args []string) error {
			input, err := f.input(cmd, args)
			got = string(input)
			return err
		}}
		new(projectFlags).addFlags(cmd, true)
		f.addFlags(cmd)
		cmd.SetArgs(test.args)
		if err := cmd.Execute(); err != nil || got != test.want {
			t.Errorf("%q: got %s, %v; want %s and no error", test.args, got, err, test.want)
		}
	}
}

// No property takes a flag that the commands share. Of two properties with the same flag, the first
// has it.
func TestFormFlags(t *testing.T) {
	newCommand := func(f *form, run func(*cobra.Command, []string) error) *cobra.Command {
		cmd := &cobra.Command{Use: "x", RunE: run, SilenceUsage: true, SilenceErrors: true}
		new(projectFlags).addFlags(cmd, true)
		f.addFlags(cmd)
		cmd.InitDefaultHelpFlag()
		return cmd
	}
	common := 0
	for word := range strings.FieldsSeq(newCommand(newForm([]byte(`{}`)), nil).Flags().FlagUsages()) {
		if flag, ok := strings.CutPrefix(word, "--"); ok && !strings.HasSuffix(flag, ":") {
			common++
			if got, want := flagName(&mcpcli.Property{Name: strings.ReplaceAll(flag, "-", "_")}), "input-"+flag; got != want {
				t.Errorf("the flag of a property %s is --%s, want --%s", flag, got, want)
			}
		}
	}
	if common < 6 {
		t.Errorf("only %d common flags were found, want at least 6", common)
	}
	f := newForm([]byte(`{"type":"object","properties":{"a_b":{"type":"string"},"a-b":{"type":"string"}}}`))
	var got []byte
	cmd := newCommand(f, func(cmd *cobra.Command, args []string) (err error) {
		got, err = f.input(cmd, args)
		return err
	})
	cmd.SetArgs([]string{"--a-b", "x"})
	if err := cmd.Execute(); err != nil || string(got) != `{"a_b":"x"}` {
		t.Errorf("--a-b x: got %s, %v; want %s", got, err, `{"a_b":"x"}`)
	}
	cmd.SetArgs([]string{"--input", "-"})
	cmd.SetIn(strings.NewReader("null"))
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "must be a JSON object") {
		t.Errorf("--input with null: %v, want %q in it", err, "must be a JSON object")
	}
}
