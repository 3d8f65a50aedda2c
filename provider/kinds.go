package provider

import "strings"

// overflowWords are the ways in which vendors say that a conversation is too
// long. They hold with any status.
func overflowWords() []string {
	return []string{
		"context_length_exceeded", "model_context_window_exceeded", "input_too_large", "exceed_context_size",
		"exceeds the context window", "exceed context limit", "context window exceeds limit",
		"maximum context length", "max context length", "greater than the context length",
		"exceeds the available context size", "context size has been exceeded",
		"prompt is too long", "prompt too long", "maximum prompt length",
		"max_tokens must be at least 1, got -", "reduce the length of the messages",
		"exceeds the maximum number of tokens allowed", "exceeded model token limit",
		"input is too long for requested model", "range of input length", "n_keep",
	}
}

// sign is a word of a body and what it proves.
type sign struct {
	word string
	kind Kind
}

// firmCodes are machine codes that say more than any status.
func firmCodes() []sign {
	return []sign{
		{"insufficient_quota", KindQuota},
		{"billing_hard_limit_reached", KindQuota},
		{"billing_error", KindQuota},
		{"tool_use_failed", KindMalformedCall},
		{"model_not_found", KindNotFound},
		{"api_key_invalid", KindAuth},
		{"invalid_api_key", KindAuth},
		{"responsibleaipolicyviolation", KindContentFilter},
		{"content_filter", KindContentFilter},
		{"content_policy_violation", KindContentFilter},
		{"overloaded_error", KindOverloaded},
		{"unavailable", KindOverloaded},
	}
}

// firmWords are the same in prose.
func firmWords() []sign {
	return []sign{
		{"credit balance", KindQuota},
		{"insufficient balance", KindQuota},
		{"insufficient credits", KindQuota},
		{"incorrect api key", KindAuth},
		{"api key not valid", KindAuth},
	}
}

// looseCodes count only where no status says better: an error inside a stream.
func looseCodes() []sign {
	return []sign{
		{"rate_limit", KindRate},
		{"ratelimit", KindRate},
		{"resource_exhausted", KindRate},
		{"too_many_requests", KindRate},
		{"toomanyrequests", KindRate},
		{"overloaded", KindOverloaded},
		{"authentication", KindAuth},
		{"unauthenticated", KindAuth},
		{"unauthorized", KindAuth},
		{"permission", KindPermission},
		{"forbidden", KindPermission},
		{"not_found", KindNotFound},
		{"notfound", KindNotFound},
		{"timeout", KindTimeout},
		{"deadline_exceeded", KindTimeout},
		{"invalid_request", KindInvalid},
		{"invalid_argument", KindInvalid},
		{"badrequest", KindInvalid},
		{"bad_request", KindInvalid},
		{"unsupported", KindInvalid},
		{"server_error", KindServer},
		{"api_error", KindServer},
		{"internal", KindServer},
	}
}

// looseWords are the same in prose.
func looseWords() []sign {
	return []sign{
		{"rate limit", KindRate},
		{"rate-limit", KindRate},
		{"too many requests", KindRate},
		{"overloaded", KindOverloaded},
		{"over capacity", KindOverloaded},
		{"timed out", KindTimeout},
	}
}

// kind judges a notice under a status, which is 0 if nothing gave one.
func (n notice) kind(status int) Kind {
	if k := n.tooLarge(status); k != "" {
		return k
	}
	if status != 401 && status != 403 {
		for _, words := range overflowWords() {
			if strings.Contains(n.words, words) {
				return KindOverflow
			}
		}
	}
	for _, find := range []func() Kind{
		func() Kind { return match(n.codes, firmCodes()) },
		func() Kind { return match(n.words, firmWords()) },
		func() Kind { return n.statusKind(status) },
		func() Kind { return match(n.codes, looseCodes()) },
		func() Kind { return match(n.words, looseWords()) },
	} {
		if k := find(); k != "" {
			return k
		}
	}
	return KindServer
}

// tooLarge tells a request that is over the rate limit by itself from one
// that only came too early.
func (n notice) tooLarge(status int) Kind {
	limited := strings.Contains(n.codes, "rate_limit")
	switch {
	case strings.Contains(n.words, "request too large") && (limited || status == 429 || strings.Contains(n.words, "tokens per min")):
		return KindExceedsRate
	case status == 413 && limited:
		return KindExceedsRate
	}
	return ""
}

// statusKind is what a status means by itself; "" for none.
func (n notice) statusKind(status int) Kind {
	switch status {
	case 401:
		return KindAuth
	case 402:
		return KindQuota
	case 403:
		return KindPermission
	case 404:
		return KindNotFound
	case 408, 504, 524:
		return KindTimeout
	case 413:
		return KindTooLarge
	case 429:
		return KindRate
	case 529:
		return KindOverloaded
	case 503:
		if strings.Contains(n.words, "overloaded") {
			return KindOverloaded
		}
	}
	switch {
	case status >= 500:
		return KindServer
	case status >= 400:
		return KindInvalid
	}
	return ""
}

func match(text string, signs []sign) Kind {
	for _, s := range signs {
		if strings.Contains(text, s.word) {
			return s.kind
		}
	}
	return ""
}
