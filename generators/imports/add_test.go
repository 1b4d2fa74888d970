package imports_test

import (
	"slices"
	"strings"
	"testing"
)

// Each case is the body of a function in a new package, and its imports.
func TestBodies(t *testing.T) {
	b := project(t, "")
	for _, c := range []struct {
		body    string
		want    string // the imports, sorted
		missing string // the names
	}{
		{body: "return nil"},
		{body: `fmt.Println(strings.ToUpper("x"), errors.New("x"), time.Now())`, want: "errors fmt strings time"},

		// Names that several packages have.
		{body: `rand.IntN(3)`, want: "math/rand/v2"},
		{body: `rand.Intn(3)`, want: "math/rand"},
		{body: `rand.Reader.Read(nil)`, want: "crypto/rand"},
		{body: `rand.Read(nil)`, want: "crypto/rand"},
		{body: `rand.Int()`, want: "math/rand/v2"},
		{body: `rand.Int(rand.Reader, nil)`, want: "crypto/rand"},
		{body: `rand.Float64(); rand.Shuffle(1, nil)`, want: "math/rand/v2"},
		{body: `rand.New(rand.NewSource(1))`, want: "math/rand"},
		{body: `rand.New(rand.NewPCG(1, 2))`, want: "math/rand/v2"},
		{body: `template.New("x")`, want: "text/template"},
		{body: `_ = template.HTML("x")`, want: "html/template"},
		{body: `template.Must(template.New("x").Parse("")); _ = template.URL("")`, want: "html/template"},
		{body: `pprof.StartCPUProfile(nil)`, want: "runtime/pprof"},
		{body: `pprof.Index(nil, nil)`, want: "net/http/pprof"},
		{body: `var s scanner.ErrorList`, want: "go/scanner"},
		{body: `var s scanner.Position`, want: "text/scanner"},

		// Names that one package has.
		{body: `json.Marshal(1); var _ json.Number`, want: "encoding/json"},
		{body: `var db *sql.DB`, want: "database/sql"},
		{body: `slog.Info("x"); http.Get("x"); url.Parse("x"); var n atomic.Int64`, want: "log/slog net/http net/url sync/atomic"},
		{body: `var p unsafe.Pointer`, want: "unsafe"},
		{body: `filepath.Join(); fs.ValidPath(""); exec.Command("x"); utf8.RuneLen(1)`, want: "io/fs os/exec path/filepath unicode/utf8"},
		{body: `var s syscall.Signal; signal.Notify(nil, s)`, want: "os/signal syscall"},
		{body: `hex.EncodeToString(sha256.New().Sum(nil)); base64.StdEncoding.EncodeToString(nil)`, want: "crypto/sha256 encoding/base64 encoding/hex"},

		// In every position where a package may be named.
		{body: `var b strings.Builder`, want: "strings"},
		{body: `type t struct { sync.Mutex; *bytes.Buffer; s sort.Interface }`, want: "bytes sort sync"},
		{body: `type t interface { fmt.Stringer; ~int | cmp.Ordered; M(io.Reader) }`, want: "cmp fmt io"},
		{body: `_ = map[netip.Addr][]time.Time{netip.Addr{}: {time.Now()}}`, want: "net/netip time"},
		{body: `_ = func(r io.Reader) (t time.Time) { return }`, want: "io time"},
		{body: `slices.SortFunc[[]string]([]string{}, cmp.Compare[string])`, want: "cmp slices"},
		{body: `var v iter.Seq2[string, atomic.Pointer[time.Time]]`, want: "iter sync/atomic time"},
		{body: `switch x := any(1).(type) { case fmt.Stringer: x.String(); case error: x.Error() }`, want: "fmt"},
		{body: `select { case <-time.After(1): case c <- os.Args[0]: }`, want: "os time"},
		{body: `for i := range strings.Count("a", "b") { defer os.Exit(i) }`, want: "os strings"},
		{body: `go func() { os.Exit(1) }()`, want: "os"},
		{body: `const k = math.MaxInt8; var a [bits.UintSize]int`, want: "math math/bits"},
		{body: `(*bytes.Buffer).Len(nil); f := bytes.Buffer.Available`, want: "bytes"},
		{body: `http.DefaultClient.Transport.RoundTrip(nil)`, want: "net/http"},

		// Declared names are not packages.
		{body: `url := "x"; url.String()`},
		{body: `url, err := url.Parse("x"); url.String(); err.Error()`, want: "net/url"},
		{body: `{ url := 1; url.String() }; url.QueryEscape("")`, want: "net/url"},
		{body: `url.QueryEscape(""); url := 1; url.Userinfo()`, want: "net/url"},
		{body: `if path := 1; path.Base() { path.Join() } else { path.Ext() }; path.Clean("")`, want: "path"},
		{body: `for _, time := range x { time.Now() }`},
		{body: `func(time int) { time.Now() }(1)`},
		{body: `_ = func() (log T) { log.Println(); return }`},
		{body: `var log T; func() { log.Println() }()`},
		{body: `os: for { break os }; os.Exit(1)`, want: "os"},
		{body: `type strings struct{}; strings.ToUpper(strings{})`},
		{body: `const math = 1; math.Pi()`},
		{body: `switch sort := x.(type) { default: sort.Strings() }`},
		{body: `select { case bytes := <-c: bytes.Clone() }`},
		{body: `_ = T{time: time.Now()}`, want: "time"},
		{body: `time := 1; _ = T{time: time.Now, time.Now: 1}; _ = unknown.Map{time.Now: 1}`, missing: "unknown"},
		{body: `v.time.Now(); f().os.Exit(1); (*p).fmt.Println(); a[0].io.EOF()`},
		{body: `v := new(struct{ sync.Mutex }); v.Lock(); v.Mutex.Lock()`, want: "sync"},
		{body: `error.Error(nil); any.X()`},

		// Names that no package can have.
		{body: `fmt.println(1)`},
		{body: `fmt.println(1); fmt.Println(1)`, want: "fmt"},
		{body: `yaml.Unmarshal(nil, nil); os.Exit(1)`, want: "os", missing: "yaml"},
		{body: `strings.ToUper("x"); strings.ToLower("x")`, missing: "strings"},
		{body: `rand.Reader.Read(nil); rand.IntN(2)`, missing: "rand"},
		{body: `Foo.Bar()`, missing: "Foo"},
		{body: `abi.FuncPCABI0(nil); builtin.String(); vendor.X(); cmd.X()`, missing: "abi builtin cmd vendor"},
		{body: `C.puts(nil); C.Puts(nil)`, missing: "C"},
		{body: `main.X(); _.X()`, missing: "main"},
	} {
		text := "package q\n\nfunc f() {\n\t" + c.body + "\n}\n"
		out, missing := b.add("q/q.go", text)
		if got := strings.Join(imported(t, out), " "); got != c.want {
			t.Errorf("%s\n\tgets %q, want %q", c.body, got, c.want)
		}
		var names []string
		for _, m := range missing {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != c.missing {
			t.Errorf("the missing packages of %q are %q, want %q", c.body, got, c.missing)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	b := project(t, "")
	for _, text := range []string{"", "package", "package q\n\nfunc f() { fmt.Println( }\n", "package q\n\nvar x = fmt.Sprint()\n\nimport \"os\"\n"} {
		if out, missing := b.add("q/q.go", text); out != text || missing != nil {
			t.Errorf("%q becomes %q, and lacks %v; want it unchanged, and nothing missing", text, out, missing)
		}
	}
}

// many is a project with packages that may import each other, or may not.
const many = `
-- main.go --
package main
-- strings/s.go --
package strings

func Own() {}

func ToUpper() {}
-- base/base.go --
package base

type T struct{}

func F() {}

func (T) Method() {}
-- base/base_test.go --
package base

func OnlyTests() {}
-- base/base_plan9.go --
package base

func OnlyPlan9() {}
-- base/broken.go --
package base

func Broken() {

-- upper/upper.go --
package upper

import "example.com/p/middle"

var U = middle.M
-- middle/middle.go --
package middle

import "example.com/p/base"

var M base.T
-- go-odd/odd.go --
package odd

var O int
-- twice/deep/er/same/a.go --
package same

var A, B int
-- same/v2/a.go --
package same

var A, C int
-- same/v3/a.go --
package same

var A int
-- zsame/a.go --
package same

var A int
-- x/internal/secret/a.go --
package secret

var S int
-- cmd/tool/main.go --
package main

var X int
-- onlytests/a_test.go --
package onlytests

var X int
-- plain/v2/a.go --
package v2

var P int
`

func TestProject(t *testing.T) {
	b := project(t, many)
	for _, c := range []struct{ file, body, want, missing string }{
		{file: "q/q.go", body: "base.F()", want: "example.com/p/base"},
		{file: "q.go", body: "base.F()", want: "example.com/p/base"},
		{file: "q/q.go", body: "base.Method()", missing: "package example.com/p/base has no Method; correct the name, or import another package explicitly"},
		{file: "q/q.go", body: "base.OnlyTests()", missing: "example.com/p/base has no OnlyTests"},
		{file: "q/q.go", body: "base.OnlyPlan9()", missing: "example.com/p/base has no OnlyPlan9"},
		{file: "q/q.go", body: "base.Broken()", want: "example.com/p/base"},
		{file: "q/q.go", body: "odd.O()", want: "example.com/p/go-odd"},

		// The standard library comes first, unless it lacks the selectors.
		{file: "q/q.go", body: "strings.ToUpper()", want: "strings"},
		{file: "q/q.go", body: "strings.ToUpper(); strings.Own()", want: "example.com/p/strings"},

		// Several that match.
		{file: "q/q.go", body: "_ = same.A", want: "example.com/p/same/v3"},
		{file: "q/q.go", body: "_ = same.A + same.C", want: "example.com/p/same/v2"},
		{file: "q/q.go", body: "_ = same.B", want: "example.com/p/twice/deep/er/same"},
		{file: "q/q.go", body: "_ = same.B + same.C", missing: "package example.com/p/same/v3 has no B, C, package example.com/p/same/v2 has no B, "},
		{file: "q/q.go", body: "_ = v2.P", want: "example.com/p/plain/v2"},

		// Packages that cannot be imported.
		{file: "base/new.go", body: "_ = middle.M", missing: "package example.com/p/middle imports this package, which would be an import cycle; "},
		{file: "base/new.go", body: "_ = upper.U", missing: "cycle"},
		{file: "base/new_test.go", body: "_ = upper.U", missing: "cycle"},
		{file: "base/new.go", body: "base.F()", missing: "no package base with F in the standard library"},
		{file: "upper/new.go", body: "base.F(); _ = middle.M", want: "example.com/p/base example.com/p/middle"},
		{file: "q/q.go", body: "_ = secret.S", missing: "package example.com/p/x/internal/secret is internal; "},
		{file: "xx/q.go", body: "_ = secret.S", missing: "internal"},
		{file: "x/q.go", body: "_ = secret.S", want: "example.com/p/x/internal/secret"},
		{file: "x/y/z/q.go", body: "_ = secret.S", want: "example.com/p/x/internal/secret"},
		{file: "q/q.go", body: "_ = main.X", missing: "is a program"},
		{file: "q/q.go", body: "_ = tool.X", missing: "no package tool"},
		{file: "q/q.go", body: "_ = onlytests.X", missing: "no package onlytests"},
	} {
		check(t, b, c.file, "package "+packageOf(c.file), c.body, c.want, c.missing)
	}
	check(t, b, "base/out_test.go", "package base_test", "base.F(); base.OnlyTests(); _ = upper.U", "example.com/p/base example.com/p/upper", "")
	check(t, b, "strings/out_test.go", "package strings_test", "strings.ToUpper()", "example.com/p/strings", "")
	check(t, b, "strings/out_test.go", "package strings_test", `strings.Join(nil, "")`, "strings", "")
	check(t, b, "cmd/tool/out_test.go", "package main_test", "_ = main.X", "main example.com/p/cmd/tool", "")
	check(t, b, "onlytests/out_test.go", "package onlytests_test", "_ = onlytests.X", "", "no package onlytests")
}

// packageOf returns the package name of a file in these tests.
func packageOf(file string) string {
	words := strings.Split(file, "/")
	if len(words) == 1 {
		return "main"
	}
	return words[len(words)-2]
}

// check adds imports to a file with statements in a function, and compares the imports and the
// reason for a missing package.
func check(t *testing.T, b *bench, file, head, body, want, missing string) {
	t.Helper()
	out, lacks := b.add(file, head+"\n\nfunc f() {\n\t"+body+"\n}\n")
	had := imported(t, head)
	got := slices.DeleteFunc(imported(t, out), func(i string) bool { return slices.Contains(had, i) })
	if strings.Join(got, " ") != want {
		t.Errorf("%s: %s\n\tgets %q, want %q; it lacks %v", file, body, got, want, lacks)
	}
	switch {
	case missing == "" && len(lacks) > 0:
		t.Errorf("%s: %s\n\tlacks %v", file, body, lacks)
	case missing != "" && (len(lacks) != 1 || !strings.Contains(lacks[0].Reason, missing)):
		t.Errorf("%s: %s\n\tlacks %v, want %s", file, body, lacks, missing)
	}
}

// siblings is a package whose files declare and import names.
const siblings = `
-- a/a.go --
package a

import (
	"math/rand"
	str "strings"

	json "example.com/p/other"
)

var url struct{}

func path() {}

type sort int
-- a/b.go --
package a

import "html/template"
-- a/c.go --
package a

import "crypto/rand"
-- a/d.go --
package a

import "math/rand"
-- a/in_test.go --
package a

import ht "net/http/httptest"

var os struct{}
-- a/out_test.go --
package a_test

import "math/rand/v2"

var bytes struct{}
-- a/ignored.go --
//go:build ignore

package main

var time struct{}
-- other/other.go --
package other

func Marshal() {}
`

func TestSiblings(t *testing.T) {
	b := project(t, siblings)
	for _, c := range []struct{ file, head, body, want, missing string }{
		// Names that they declare.
		{file: "a/n.go", body: "url.Parse(); path.Base(); sort.Strings()"},
		{file: "a/n.go", body: "os.Exit(1); bytes.Clone(nil); time.Now()", want: "bytes os time"},
		{file: "a/n_test.go", body: "url.Parse(); os.Exit(1); bytes.Clone(nil)", want: "bytes"},
		{file: "a/n_test.go", head: "package a_test", body: "url.Parse(); os.Exit(1); bytes.Clone(nil)", want: "net/url os"},
		{file: "a/n.go", head: "package b", body: "url.Parse()", want: "net/url"},
		{file: "a/a.go", body: "url.Parse()", want: "net/url"},

		// Packages that they import.
		{file: "a/n.go", body: `template.New("")`, want: "html/template"},
		{file: "a/n.go", body: `str.ToUpper("")`, want: "str strings"},
		{file: "a/n.go", body: `strings.ToUpper("")`, want: "strings"},
		{file: "a/n.go", body: `json.Marshal()`, want: "json example.com/p/other"},
		{file: "a/n.go", body: `json.Marshal(); json.Unmarshal()`, want: "encoding/json"},
		{file: "a/n.go", body: "rand.Int()", want: "math/rand"},
		{file: "a/n.go", body: "rand.Reader()", want: "crypto/rand"},
		{file: "a/n.go", body: "rand.IntN()", want: "math/rand/v2"},
		{file: "a/a.go", body: "rand.Int()", want: "crypto/rand"},
		{file: "a/n.go", body: "ht.NewRequest()", missing: "no package ht with NewRequest in"},
		{file: "a/n_test.go", body: "ht.NewRequest()", want: "ht net/http/httptest"},
		{file: "a/n_test.go", head: "package a_test", body: "ht.NewRequest(); json.Marshal()", want: "ht net/http/httptest json example.com/p/other"},
	} {
		head := c.head
		if head == "" {
			head = "package a"
		}
		check(t, b, c.file, head, c.body, c.want, c.missing)
	}
}

func TestOwnImports(t *testing.T) {
	b := project(t, many)
	for _, c := range []struct{ imports, body, want, missing string }{
		{imports: `import "strings"`, body: `strings.ToUper("")`},
		{imports: `import s "strings"`, body: `s.ToUpper(""); strings.ToLower("")`, want: "strings"},
		{imports: `import strings "bytes"`, body: `strings.ToUpper(nil)`},
		{imports: `import _ "strings"`, body: `strings.ToUpper(nil)`, want: "strings"},
		{imports: `import . "strings"`, body: `Builder.String(); strings.ToLower("")`, want: "strings"},
		{imports: `import "math/rand/v2"`, body: `rand.Intn(1)`},
		{imports: `import "gopkg.in/yaml.v3"`, body: `yaml.Marshal(1)`},
		{imports: `import "example.com/json/v4"`, body: `json.Marshal(1)`},
		{imports: `import "k8s.io/api/apps/v1"`, body: `v1.Any()`},
		{imports: `import "k8s.io/api/apps/v2"`, body: `v2.Any()`},
		{imports: `import "example.com/p/go-odd"`, body: `odd.O(); odd.Other()`},
		{imports: `import "example.com/p/gone"`, body: `gone.O()`},
		{imports: "import `strings`", body: `strings.ToUpper("")`},
		{imports: "import \"C\"", body: `C.Puts(""); os.Exit(C.X)`, want: "os"},
	} {
		check(t, b, "q/q.go", "package q\n\n"+c.imports, c.body, c.want, c.missing)
	}
}
