package tools

import "context"

// A schema follows from the fields of a struct. What those cannot say is said in a directive, with all that JSON
// Schema 2020-12 has.

// ContactInput is what json_schema_2020_12_tool takes.
//
//petrock:schema {
//petrock:schema   "$schema": "https://json-schema.org/draft/2020-12/schema",
//petrock:schema   "type": "object",
//petrock:schema   "$defs": {"address": {
//petrock:schema     "$anchor": "addressDef", "type": "object",
//petrock:schema     "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
//petrock:schema   }},
//petrock:schema   "properties": {
//petrock:schema     "name": {"type": "string"},
//petrock:schema     "address": {"$ref": "#/$defs/address"},
//petrock:schema     "contactMethod": {"type": "string", "enum": ["phone", "email"]},
//petrock:schema     "phone": {"type": "string"},
//petrock:schema     "email": {"type": "string"}
//petrock:schema   },
//petrock:schema   "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
//petrock:schema   "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
//petrock:schema   "then": {"required": ["phone"]},
//petrock:schema   "else": {"required": ["email"]},
//petrock:schema   "additionalProperties": false
//petrock:schema }
type ContactInput struct {
	Name          string  `json:"name"`          // Of the person
	Address       Address `json:"address"`       // Where they live
	ContactMethod string  `json:"contactMethod"` // phone or email
	Phone         string  `json:"phone"`         // Their number
	Email         string  `json:"email"`         // Their address for mail
}

// An Address is where somebody lives.
type Address struct {
	Street string `json:"street"` // With the number
	City   string `json:"city"`   // Its name
}

// Contact tells how a person can be reached.
//
//petrock:name json_schema_2020_12_tool
//petrock:hints read-only closed-world
func Contact(_ context.Context, in ContactInput) (string, error) {
	if in.ContactMethod == "phone" {
		return "Call " + in.Phone, nil
	}
	return "Write to " + in.Email, nil
}
