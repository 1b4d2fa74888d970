package generators

import "strings"

// singular is a noun for one of what several are called, if that is to be told: posts are of one post.
func singular(plural string) (string, bool) {
	switch plural {
	case "people":
		return "person", true
	case "men", "women":
		return strings.TrimSuffix(plural, "en") + "an", true
	case "children":
		return "child", true
	case "mice":
		return "mouse", true
	case "feet":
		return "foot", true
	case "lives", "knives", "wives":
		return strings.TrimSuffix(plural, "ves") + "fe", true
	case "leaves", "shelves", "halves", "wolves":
		return strings.TrimSuffix(plural, "ves") + "f", true
	case "movies", "cookies", "ties", "pies", "zombies", "selfies", "rookies":
		return strings.TrimSuffix(plural, "s"), true
	case "quizzes":
		return "quiz", true
	case "statuses", "buses", "bonuses", "viruses", "aliases", "gases", "heroes", "potatoes", "tomatoes", "echoes", "vetoes":
		return strings.TrimSuffix(plural, "es"), true
	case "caches", "aches", "headaches", "niches", "avalanches":
		return strings.TrimSuffix(plural, "s"), true
	case "axes", "news", "lens", "series", "species", "always", "physics", "mathematics", "analytics", "logistics", "sales", "goods", "settings", "chaos":
		return "", false
	}
	return regular(plural)
}

// regular is singular for nouns that follow the rule.
func regular(plural string) (string, bool) {
	stem, ok := strings.CutSuffix(plural, "s")
	if !ok || len(stem) < 2 {
		return "", false
	}
	for _, ending := range []string{"s", "u", "i", "a"} { // address, status, analysis, canvas are one already
		if strings.HasSuffix(stem, ending) && !strings.HasSuffix(stem, "ea") {
			return "", false
		}
	}
	if bare, ok := strings.CutSuffix(stem, "ie"); ok && len(bare) > 1 {
		return bare + "y", true
	}
	for _, ending := range []string{"sse", "xe", "zze", "che", "she"} { // addresses, boxes, buzzes, batches, dishes
		if strings.HasSuffix(stem, ending) {
			return strings.TrimSuffix(stem, "e"), true
		}
	}
	return stem, true
}

// article is the word before a noun: a post, an entry.
func article(noun string) string {
	switch {
	case strings.HasPrefix(noun, "user"), strings.HasPrefix(noun, "uni"), strings.HasPrefix(noun, "use"), strings.HasPrefix(noun, "euro"), strings.HasPrefix(noun, "one"):
		return "a"
	case strings.HasPrefix(noun, "hour"):
		return "an"
	case strings.ContainsAny(noun[:1], "aeiouAEIOU"):
		return "an"
	}
	return "a"
}
