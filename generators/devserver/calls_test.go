package devserver_test

import (
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/gen"
)

// Both front ends write the calls that messages recommend.
func TestCalls(t *testing.T) {
	for _, c := range []struct {
		call       gen.Call
		line, tool string
	}{
		{gen.NewCall("undo"), "petrock undo", "petrock_undo"},
		{gen.NewCall("redo", "operation", "0003-abcdef"), "petrock redo 0003-abcdef", `petrock_undo {"operation":"0003-abcdef","redo":true}`},
		{
			gen.NewCall("destroy", "kind", "command", "name", "posts/create", "retire", true),
			"petrock destroy command posts/create --retire",
			`petrock_destroy_component {"kind":"command","name":"posts/create","retire":true}`,
		},
		{
			gen.NewCall("change", "kind", "command", "name", "posts/create", "rename_fields", []string{"a=b", "c=d"}),
			"petrock change command posts/create --rename-field a=b --rename-field c=d",
			`petrock_change {"kind":"command","name":"posts/create","rename_fields":["a=b","c=d"]}`,
		},
		{gen.NewCall("sync", "accept", []string{"posts/create"}, "no_data", true), "petrock sync --accept posts/create --no-data", `petrock_build {"accept":["posts/create"],"no_data":true}`},
		{gen.NewCall("test", "packages", []string{"./tools", "./store"}), "petrock test ./tools ./store", `petrock_test {"packages":["./tools","./store"]}`},
		{gen.NewCall("remove", "part", "oauth"), "petrock remove oauth", "petrock remove oauth"},
		{gen.NewCall("", "rename_fields", nil), "--rename-field", "rename_fields"},
		{gen.NewCall("", "map", "FEATURE/COMMAND"), "--map FEATURE/COMMAND", `"map":"FEATURE/COMMAND"`},
	} {
		if got := c.call.String(); got != c.line {
			t.Errorf("%+v.String() = %s, want %s", c.call, got, c.line)
		}
		if got := devserver.FormatCall("petrock_")(c.call); got != c.tool {
			t.Errorf("FormatCall(%q)(%+v) = %s, want %s", "petrock_", c.call, got, c.tool)
		}
	}
}
