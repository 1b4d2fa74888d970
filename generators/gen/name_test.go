package gen_test

import (
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestNames(t *testing.T) {
	for _, test := range []struct {
		text, wire, ident, human string
		exact                    bool
	}{
		{"send_mail", "send_mail", "SendMail", "send mail", true},
		{"send-mail", "send_mail", "SendMail", "send mail", true},
		{"sendMail", "send_mail", "SendMail", "send mail", true},
		{"SendMail", "send_mail", "SendMail", "send mail", true},
		{"SEND_MAIL", "send_mail", "SendMail", "send mail", true},
		{"a", "a", "A", "a", true},
		{"getPost", "get_post", "GetPost", "get post", true},
		{"GET", "get", "Get", "get", true},
		{"create-draft", "create_draft", "CreateDraft", "create draft", true},
		{"sendHTTPRequest", "send_http_request", "SendHTTPRequest", "send HTTP request", true},
		{"HTTPServer2", "http_server2", "HTTPServer2", "HTTP server2", true},
		{"user_id", "user_id", "UserID", "user ID", true},
		{"get_urls", "get_urls", "GetURLs", "get URLs", true},
		{"vpn_outage", "vpn_outage", "VPNOutage", "VPN outage", true},
		{"getURLs", "get_urls", "GetURLs", "get URLs", true},
		{"https_urls_in", "https_urls_in", "HTTPSURLsIn", "HTTPS URLs in", true},
		{"dns_lookup", "dns_lookup", "DNSLookup", "DNS lookup", true},
		{"user_api_id", "user_api_id", "UserAPIID", "user API ID", true},
		{"is_a_dog", "is_a_dog", "IsADog", "is a dog", true},
		{"plan_b", "plan_b", "PlanB", "plan b", true},
		{"func", "func", "Func", "func", true},
		{"string", "string", "String", "string", true},
		{"init", "init", "Init", "init", true},
		{"sha256_sum", "sha256_sum", "SHA256Sum", "SHA256 sum", true},
		{"find_isbn", "find_isbn", "FindISBN", "find ISBN", true},
		{"price_eur", "price_eur", "PriceEUR", "price EUR", true},
		{"eur_price", "eur_price", "EURPrice", "EUR price", true},
		{"get_isbns", "get_isbns", "GetISBNs", "get ISBNs", true},
		{"http_api", "http_api", "HTTPAPI", "HTTP API", true},
		{"user_id_urls", "user_id_urls", "UserIDURLs", "user ID URLs", true},
		{"getVATID", "get_vat_id", "GetVATID", "get VAT ID", true},
		{"apiid", "apiid", "Apiid", "apiid", true},
		{"x_url", "x_url", "XUrl", "x URL", true},
		{"a_b_c", "a_b_c", "ABC", "a b c", false},
		{"add_2_numbers", "add_2_numbers", "Add2Numbers", "add 2 numbers", false},
		{"x_url_y_z", "x_url_y_z", "XUrlYZ", "x URL y z", false},
	} {
		name, err := gen.ParseName(test.text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if name.Wire() != test.wire || name.Go() != test.ident || name.Human() != test.human || name.IsExact() != test.exact {
			t.Errorf("ParseName(%q) = %s, %s, %q, exact %t; want %s, %s, %q, exact %t", test.text, name.Wire(), name.Go(), name.Human(), name.IsExact(), test.wire, test.ident, test.human, test.exact)
		}
	}
}

// A project adds initialisms to names of components, fields and values. The names of components
// stay exact.
func TestInitialismsOfProject(t *testing.T) {
	parse := map[string]func(string, ...string) (gen.Name, error){"component": gen.ParseName, "field": gen.ParseFieldName, "value": gen.NameOfValue}
	for _, test := range []struct{ kind, text, want string }{
		{"component", "co2_ppm", "Co2PPM"},
		{"component", "ppm_id", "PPMId"}, // WireName does not know PPM
		{"component", "id_of_ppm_url", "IDOfPPMUrl"},
		{"component", "ppms", "Ppms"},
		{"field", "ppm_id", "PPMID"},
		{"field", "isbns", "ISBNs"},
		{"field", "ppms", "PPMs"},
		{"value", "ppm", "PPM"},
	} {
		name, err := parse[test.kind](test.text, "PPM", "")
		if err != nil || name.Go() != test.want {
			t.Errorf("%s %s = %s, %v, want %s", test.kind, test.text, name.Go(), err, test.want)
		}
	}
	fields, err := gen.ParseFields([]string{"ppm:int", "unit:enum(ppm,eur)"}, "ppm")
	if err != nil || fields[0].Go != "PPM" || fields[1].Type.Values[0].Go != "PPM" || fields[1].Type.Values[1].Go != "EUR" {
		t.Errorf("ParseFields = %+v, %v, want names in capitals", fields, err)
	}
}

func TestFromGo(t *testing.T) {
	for ident, wire := range map[string]string{
		"SendMail":      "send_mail",
		"HTTPServer":    "http_server",
		"HTTPServer2":   "http_server2",
		"UserID":        "user_id",
		"GetURLs":       "get_urls",
		"URLsOf":        "urls_of",
		"IDsByName":     "ids_by_name",
		"URLsafe":       "ur_lsafe", // URLs would be a plural only if a word ended there
		"XMLAsJSON":     "xml_as_json",
		"V2Add":         "v2_add",
		"SHA256Sum":     "sha256_sum",
		"Add2Numbers":   "add2_numbers",
		"Add2numbers":   "add2numbers",
		"Send_Mail":     "send_mail",
		"Send__Mail_":   "send_mail",
		"ABC":           "abc",
		"A":             "a",
		"XYPosition":    "xy_position",
		"Größe":         "größe",
		"":              "",
		"sendMail":      "send_mail",
		"JSONAPIClient": "json_api_client",
		"GetHTTPAPIs":   "get_http_apis",
		"HTTPSURL":      "https_url",
		"HTTPSSE":       "http_sse",
		"APIX":          "apix",
		"Apiid":         "apiid",
	} {
		if got := gen.WireName(ident); got != wire {
			t.Errorf("%s: got %q, want %q", ident, got, wire)
		}
	}
}

func TestValue(t *testing.T) {
	for text, ident := range map[string]string{
		"open":          "Open",
		"in-progress":   "InProgress",
		"in progress":   "InProgress",
		"in.progress":   "InProgress",
		"inProgress":    "InProgress",
		"OPEN":          "Open",
		"2xx":           "N2xx",
		"5 GHz":         "N5GHz",
		"1.5":           "N15",
		"text/html":     "TextHTML",
		"a@example.com": "AExampleCom",
		"C++":           "C",
		"é1":            "N1",
	} {
		name, err := gen.NameOfValue(text)
		if err != nil || name.Go() != ident {
			t.Errorf("%q is %s, %v; want %s and no error", text, name.Go(), err, ident)
		}
	}
	for _, text := range []string{"", "+", "é", "\x00"} {
		if name, err := gen.NameOfValue(text); err == nil {
			t.Errorf("NameOfValue(%q) = %s and no error, want an error", text, name.Go())
		}
	}
}
