package generators

import "testing"

// singular knows regular and common irregular plurals, and reports false for others.
func TestSingular(t *testing.T) {
	for plural, want := range map[string]string{
		"posts": "post", "users": "user", "categories": "category", "boxes": "box", "addresses": "address", "batches": "batch",
		"dishes": "dish", "movies": "movie", "people": "person", "statuses": "status", "quizzes": "quiz", "caches": "cache",
		"heroes": "hero", "leaves": "leaf", "lives": "life", "days": "day", "ties": "tie", "ideas": "idea", "notes": "note",
		"databases": "database", "houses": "house", "blogposts": "blogpost", "buses": "bus", "aliases": "alias", "women": "woman",
		"news": "", "series": "", "status": "", "address": "", "analysis": "", "canvas": "", "data": "", "inventory": "", "as": "",
		"analytics": "", "axes": "",
	} {
		got, ok := singular(plural)
		if ok != (want != "") || ok && got != want {
			t.Errorf("one of %s is %q, %v; want %q", plural, got, ok, want)
		}
	}
	for noun, want := range map[string]string{"post": "a", "issue": "an", "user": "a", "hour": "an", "unit": "a", "entry": "an"} {
		if got := article(noun); got != want {
			t.Errorf("it says %s %s", got, noun)
		}
	}
}
