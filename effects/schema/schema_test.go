package schema

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TOOL-10: every problem is said at once, with the dotted name of its place.
func TestProblems(t *testing.T) {
	const tool = `{"type":"object","additionalProperties":false,"required":["path","job"],"properties":{
		"path":{"type":"string"},"limit":{"type":"integer"},"mode":{"enum":["r","w"]},"either":{"type":["string","null"]},
		"job":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"n":{"type":"number"}}},
		"tags":{"type":"array","items":{"type":"string"}},"big":{"type":"integer"}}}`
	for _, tt := range []struct{ schema, in, want string }{
		{tool, `{"path":"a","job":{"id":"x"},"limit":3,"mode":"r","either":null,"tags":["t"]}`, ""},
		{tool, `{"path":"a","job":{"id":"x"},"limit":3.0}`, ""},
		{tool, `{"path":"a","job":{"id":"x"},"big":123456789012345678901234567890}`, ""},
		{tool, `{"limit":"ten","mode":"x","typo":1,"job":{"n":"1"}}`, "'job.id' is required; 'job.n' should be number, got string; " +
			"'limit' should be integer, got string; 'mode' should be one of \"r\", \"w\"; 'path' is required; 'typo' is not a property of this tool"},
		{tool, `{"path":null,"job":{"id":"x"},"limit":1.5}`, "'limit' should be integer, got number; 'path' should be string, got null"},
		{tool, `{"path":"a","job":{"id":"x"},"tags":["t",1]}`, "'tags.1' should be string, got integer"},
		{`{}`, `{"anything":[1,{}]}`, ""},
		{`{"properties":{"a":{"minLength":2}}}`, `{"a":"b"}`, "'a': String length must be greater than or equal to 2"},
		{`{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`, `{"next":{"next":{"n":"x"}}}`, "'next.next.n' should be integer, got string"},
		{`{"definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s"}}}`, `{"a":1}`, "'a' should be string, got integer"},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1e999999999}`, "out of range"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "'b' is required"},
	} {
		s, err := Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Errorf("Compile(%s): %v", tt.schema, err)
			continue
		}
		got := strings.Join(s.Problems(json.RawMessage(tt.in)), "; ")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s\nheld against %s: %q, want %q", tt.in, tt.schema, got, tt.want)
		}
	}
}

// A schema that nothing can be held against says why, and nothing is fetched.
func TestUnusable(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	for schema, want := range map[string]string{
		`[]`:                                   "not a JSON object",
		`{"type":`:                             "not JSON",
		`{} {}`:                                "follows",
		`{"type":"strange"}`:                   "strange",
		`{"type":5}`:                           "type",
		`{"properties":{"a":{"pattern":"("}}}`: "pattern",
		`{"$schema":"https://json-schema.org/draft/2020-12/schema"}`:             "2020-12",
		`{"$ref":"` + server.URL + `/x.json"}`:                                   "another document",
		`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`:                     "another document",
		`{"properties":{"a":{"$ref":"other.json#/a"}}}`:                          "another document",
		`{"$id":"` + server.URL + `/","properties":{"a":{"$ref":"other.json"}}}`: "another document",
		`{"properties":{"a":{"$id":"` + server.URL + `/","type":"string"}}}`:     "a name of its own",
		`{"properties":{"a":{"minimum":1e999999999}}}`:                           "out of range",
		`{"$ref":"#"}`:                     "without end",
		`{"allOf":[{"$ref":"#"}]}`:         "without end",
		`{"not":{"anyOf":[{"$ref":"#"}]}}`: "without end",
		`{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"oneOf":[{"$ref":"#/definitions/a"}]}}}`: "without end",
		`{"dependencies":{"a":{"$ref":"#"}}}`:                            "without end",
		`{"properties":{"a":{"$ref":"#/definitions/none"}}}`:             "leads nowhere",
		`{"properties":{"a":{"$ref":"#named"}}}`:                         "leads nowhere",
		strings.Repeat(`{"not":`, 300) + `{}` + strings.Repeat(`}`, 300): "deeply",
	} {
		if s, err := Compile(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile(%.80s) = %v, %v, want an error with %q", schema, s, err, want)
		}
	}
	if asked != 0 {
		t.Errorf("%d documents were fetched, want none", asked)
	}
}

// Neither a schema nor a document from outside can do more than be refused.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`)
	f.Add(`{"definitions":{"a":{"$ref":"#/definitions/a"}}}`, `{}`)
	f.Add(`{"anyOf":[{"required":["a"]},{"multipleOf":0.1}],"minimum":1e400}`, `[1e400,null]`)
	f.Add(`{"id":5,"enum":[1,1],"items":[{},true],"additionalItems":{"not":{}}}`, `"x"`)
	f.Fuzz(func(t *testing.T, schema, doc string) {
		if len(schema) > 4<<10 || len(doc) > 4<<10 {
			return
		}
		if s, err := Compile(json.RawMessage(schema)); err == nil {
			s.Problems(json.RawMessage(doc))
		}
	})
}
