package openai

import "strings"

// profile is what a vendor wants beyond the common form. It is data: a row per
// habit, matched against the provider's name, the host and the model.
type profile struct {
	loopReasoning bool // wants its readable reasoning back while its calls are being answered
	nineIDs       bool // takes only call ids of nine letters or digits
	completion    bool // takes max_completion_tokens instead of max_tokens
}

// habit is a row: every word that names the vendor, and what it wants.
type habit struct {
	words []string
	wants profile
}

func habits() []habit {
	return []habit{
		{[]string{"deepseek", "moonshot", "kimi", "zai", "z.ai", "glm", "minimax"}, profile{loopReasoning: true}},
		{[]string{"mistral", "ministral", "magistral", "codestral", "devstral"}, profile{nineIDs: true}},
		{[]string{"api.openai.com", ".openai.azure.com"}, profile{completion: true}},
	}
}

// profileFor joins the rows that match any of the names.
func profileFor(names ...string) profile {
	where := strings.ToLower(strings.Join(names, " "))
	var p profile
	for _, h := range habits() {
		for _, w := range h.words {
			if strings.Contains(where, w) {
				p.loopReasoning = p.loopReasoning || h.wants.loopReasoning
				p.nineIDs = p.nineIDs || h.wants.nineIDs
				p.completion = p.completion || h.wants.completion
			}
		}
	}
	return p
}
