// Package schema holds JSON Schemas (2020-12) as values and checks raw JSON against them.
//
//	s, err := schema.Compile(`{
//		"type": "object",
//		"properties": {"limit": {"type": "integer", "maximum": 100}},
//		"required": ["limit"],
//		"additionalProperties": false
//	}`)
//	…
//	err = s.Validate([]byte(`{"limit": 250}`)) // limit: must be at most 100, got 250
//
// It has the keywords that assert something about the arguments and the results of tools. An
// assertion it does not have ($dynamicRef, unevaluatedProperties, a $ref to another document) is
// refused by [Compile], never passed over. Annotations and unknown keywords mean nothing to it,
// but [Schema.Text] keeps them. A format is an annotation too, but for date and date-time, which
// are checked: they accept what of RFC 3339 Go's time.Time can be read from.
//
// Validation reads the input in place. Numbers are compared by value and exactly, whatever
// their size. Messages are written for the caller that has to mend its input, a language
// model as a rule: where, what is wanted, what was got.
package schema
