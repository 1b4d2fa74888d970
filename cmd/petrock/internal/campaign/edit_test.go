package campaign_test

import (
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// An agent that has only the dev server changes a feature by hand: types of its own in the state, a
// test with a data file, a body. The project passes its tests, and undo restores it.
func TestDevServerEdits(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	mustCall[engine.Result](w, client, "generate_feature", object{"name": "notes", "crud": true, "fields": []string{"title:string:1..50"}})
	before := w.tree()
	made := mustCall[engine.Result](w, client, "edit", object{"test": true, "edits": []object{
		{"path": "features/notes/words.go", "text": "package notes\n\n// words counts the words of a title.\nfunc words(title string) int { return len(strings.Fields(title)) }\n"},
		{"path": "features/notes/words_test.go", "text": "package notes\n\nfunc TestWords(t *testing.T) {\n\ttext, err := os.ReadFile(\"testdata/title.txt\")\n\tif err != nil || words(string(text)) != 3 {\n\t\tt.Errorf(\"%s: %d words (%v)\", text, words(string(text)), err)\n\t}\n}\n"},
		{"path": "features/notes/testdata/title.txt", "text": "one more note"},
		{"path": "features/notes/create.go", "replace": []object{{"old": "\treturn nil\n", "new": "\tif words(c.Title) > 3 {\n\t\treturn errors.New(\"use at most three words\")\n\t}\n\treturn nil\n"}}},
	}})
	if made.Tests == nil || !made.Tests.OK || made.Tests.Passed < 5 {
		t.Errorf("the tests of the edit: %+v; want Tests.OK true and Tests.Passed at least 5", made.Tests)
	}
	tested := mustCall[engine.TestResult](w, client, "test", object{})
	if !tested.OK || tested.Packages != 3 {
		t.Errorf("test returned %+v; want OK true and Packages 3", tested)
	}
	w.soundQuickly(w.engine())
	mustCall[engine.Result](w, client, "undo", object{"operation": made.Operation})
	w.unchanged(before, "after undo")
}
