package provider

import "github.com/basisagent/basis/reducer"

// StopWord is the word by which a wire usually tells of a stop; "" where it has
// none, or several. docs/providers.md has the table.
func StopWord(wire string, s reducer.Stop) string {
	return stopWords[wire][s]
}

var stopWords = map[string]map[reducer.Stop]string{
	WireChat:      {reducer.StopEndTurn: "stop", reducer.StopToolUse: "tool_calls", reducer.StopMaxTokens: "length"},
	WireMessages:  {reducer.StopPause: "pause_turn"},
	WireResponses: {reducer.StopEndTurn: "completed", reducer.StopToolUse: "completed", reducer.StopMaxTokens: "incomplete:max_output_tokens"},
	WireGemini:    {reducer.StopEndTurn: "STOP", reducer.StopToolUse: "STOP", reducer.StopMaxTokens: "MAX_TOKENS"},
}
