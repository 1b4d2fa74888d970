package main

import (
	"bytes"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args   string
		rounds int
		time   time.Duration
		only   []string
	}{
		{"", 7, 500 * time.Millisecond, serverNames},
		{"-short", 2, 200 * time.Millisecond, serverNames},
		{"-rounds 9 -short", 9, 200 * time.Millisecond, serverNames},
		{"-short -time 1s -only floor,ours", 2, time.Second, []string{"ours", "floor"}},
		{"-over http", 7, 500 * time.Millisecond, httpServerNames},
		{"-over http -only httpfloor,ours -short", 2, 200 * time.Millisecond, []string{"ours", "httpfloor"}},
	} {
		o, err := parseOptions(strings.Fields(test.args), t.Output())
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
		} else if o.rounds != test.rounds || o.time != test.time || !slices.Equal(o.only, test.only) {
			t.Errorf("%s: %+v", test.args, o)
		}
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	for args, want := range map[string]string{
		"-only ours,nobody":      `no server "nobody"; choose from ours, gosdk`,
		"-over http -only floor": `no server "floor"; choose from ours, gosdk`,
		"-over mail":             "stdio or http",
		"-rounds 0":              "at least 1",
		"-quiet -1s":             "not be negative",
		"-time 1ms":              "from 10ms",
		"-time 5m":               "to 30s",
		"extra":                  `"extra"`,
		"-what":                  "-what",
	} {
		var out bytes.Buffer
		if _, err := parseOptions(strings.Fields(args), &out); err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: error %v", args, err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no %q in %s", args, want, &out)
		}
	}
}

func TestRotated(t *testing.T) {
	servers := []server{{name: "a"}, {name: "b"}, {name: "c"}}
	var got []string
	for i := range 4 {
		for _, s := range rotated(servers, i) {
			got = append(got, s.name)
		}
	}
	if want := "abcbcacababc"; strings.Join(got, "") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ""), want)
	}
}
