package tools

import "context"

// Schemas are derived from struct fields. A directive replaces the derived schema with any JSON
// Schema 2020-12.

// ContactInput is the input of json_schema_2020_12_tool.
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
	Name          string  `json:"name"`          // Name of the person
	Address       Address `json:"address"`       // Address of the person
	ContactMethod string  `json:"contactMethod"` // phone or email
	Phone         string  `json:"phone"`         // Phone number
	Email         string  `json:"email"`         // Email address
}

// An Address is a postal address.
type Address struct {
	Street string `json:"street"` // Street and number
	City   string `json:"city"`   // Name of the city
}

// Contact returns how to reach a person.
//
//petrock:name json_schema_2020_12_tool
//petrock:hints read-only closed-world
func Contact(_ context.Context, in ContactInput) (string, error) {
	if in.ContactMethod == "phone" {
		return "Call " + in.Phone, nil
	}
	return "Write to " + in.Email, nil
}
