package mcp_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
)

// callPathCalls tells a child process of TestCallPath how many calls to make.
const callPathCalls = "PETROCK_CALL_PATH_CALLS"

// TestCallPath counts the functions of jsonrpc and mcp that a tools/call over stdio enters: those that
// a thousand further calls enter at least 500 times, according to the coverage counters. Closures
// count; inlined functions and timers do not. It compiles both packages, so it only runs on request:
//
//	PETROCK_CALL_PATH=1 go test ./core/mcp -run TestCallPath -v
func TestCallPath(t *testing.T) {
	if n, err := strconv.Atoi(os.Getenv(callPathCalls)); err == nil {
		callOverLines(t, n)
		return
	}
	if os.Getenv("PETROCK_CALL_PATH") == "" {
		t.Skip("PETROCK_CALL_PATH is not set")
	}
	p := &callPath{fset: token.NewFileSet(), files: map[string]*ast.File{}}
	p.findInlined(t)
	before, after := p.countEntered(t, 1000), p.countEntered(t, 2000)
	called, inlined := []string{"jsonrpc.Conn.read"}, []string{} // its loop runs for each call
	for f, n := range after {
		switch {
		case n-before[f] < 500 || strings.Contains(f.name, "turnTimer") || strings.Contains(f.name, "flushOld") || strings.Contains(f.name, "endOldBurst"):
		case p.inlined[f.position]:
			inlined = append(inlined, f.name)
		default:
			called = append(called, f.name)
		}
	}
	slices.Sort(called)
	slices.Sort(inlined)
	t.Logf("%d functions:\n%s", len(called), strings.Join(called, "\n"))
	t.Logf("%d inlined:\n%s", len(inlined), strings.Join(inlined, "\n"))
	if most := 36; len(called) > most {
		t.Errorf("a tools/call passes %d functions, want at most %d", len(called), most)
	}
}

// callOverLines makes n identical calls, one at a time, after a handshake.
func callOverLines(t *testing.T, n int) {
	server := adders(t, 1)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- server.Serve(context.Background(), jsonrpc.NewLines(fromClient, toClient, jsonrpc.LinesOptions{}))
	}()
	answers := bufio.NewReader(fromServer)
	send := func(msg string) { fmt.Fprintln(toServer, msg) }
	receive := func() {
		if line, err := answers.ReadString('\n'); err != nil || strings.Contains(line, `"error"`) {
			t.Fatal(line, err)
		}
	}
	send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	receive()
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for range n {
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add0","arguments":{"a":1,"b":2}}}`)
		receive()
	}
	toServer.Close()
	go io.Copy(io.Discard, fromServer)
	<-done
}

// A callPath finds the functions that run.
type callPath struct {
	fset    *token.FileSet
	files   map[string]*ast.File
	inlined map[string]bool // by position
}

// A function is a declared one, or a closure.
type function struct{ name, position string }

const callPathModule = "github.com/petrock/petrock/"

// findInlined asks the compiler which functions it can inline.
func (p *callPath) findInlined(t *testing.T) {
	p.inlined = map[string]bool{}
	cmd := exec.Command("go", "build", "-gcflags=-m", "../jsonrpc", ".")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := strings.ReplaceAll(string(out), "inlining call to jsonrpc.", "inlining call to ")
	for line := range strings.Lines(all) {
		position, name, ok := strings.Cut(strings.TrimSpace(line), ": can inline ")
		// A function that is only used as a value is not inlined, nor is the body of a generic one.
		if ok && !strings.Contains(name, "[") && name != "(*envelope).member" && strings.Contains(all, "inlining call to "+name+"\n") {
			file, place, _ := strings.Cut(position, ":")
			number, _, _ := strings.Cut(place, ":")
			p.inlined[filepath.Join("..", filepath.Base(filepath.Join("..", "mcp", filepath.Dir(file))), filepath.Base(file))+":"+number] = true
		}
	}
}

// countEntered returns how often each function was entered by a process that makes n calls.
func (p *callPath) countEntered(t *testing.T, n int) map[function]int {
	profile := filepath.Join(t.TempDir(), "profile")
	cmd := exec.Command("go", "test", "-count=1", "-run", "^TestCallPath$", "-covermode=atomic", "-coverpkg="+callPathModule+"core/jsonrpc,"+callPathModule+"core/mcp", "-coverprofile="+profile, ".")
	cmd.Env = append(os.Environ(), callPathCalls+"="+strconv.Itoa(n))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	type block struct{ line, column, count int }
	first := map[function]block{}
	for line := range bytes.Lines(raw) {
		file, rest, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		var b block
		var toLine, toColumn, statements int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.column, &toLine, &toColumn, &statements, &b.count); err != nil {
			continue
		}
		path := filepath.Join("..", "..", strings.TrimPrefix(file, callPathModule))
		f := p.functionAt(t, path, b.line, b.column)
		if old, seen := first[f]; !seen || cmp.Or(cmp.Compare(b.line, old.line), cmp.Compare(b.column, old.column)) < 0 {
			first[f] = b
		}
	}
	entered := map[function]int{}
	for f, b := range first {
		entered[f] = b.count
	}
	return entered
}

// functionAt returns the innermost function around a position.
func (p *callPath) functionAt(t *testing.T, path string, line, column int) (found function) {
	file := p.files[path]
	if file == nil {
		var err error
		if file, err = parser.ParseFile(p.fset, filepath.Join("..", strings.TrimPrefix(path, "../../core/")), nil, 0); err != nil {
			t.Fatal(err)
		}
		p.files[path] = file
	}
	pkg := filepath.Base(filepath.Dir(path))
	name := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		from, to := p.fset.Position(n.Pos()), p.fset.Position(n.End())
		if from.Line > line || from.Line == line && from.Column > column || to.Line < line || to.Line == line && to.Column < column {
			return false
		}
		switch f := n.(type) {
		case *ast.FuncDecl:
			name = pkg + "." + f.Name.Name
			if f.Recv != nil {
				name = pkg + "." + receiver(f.Recv.List[0].Type) + "." + f.Name.Name
			}
		case *ast.FuncLit:
			name += ".func"
		default:
			return true
		}
		found = function{name, filepath.Join("..", pkg, filepath.Base(path)) + ":" + strconv.Itoa(from.Line)}
		return true
	})
	return found
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
