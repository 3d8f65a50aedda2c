package provider

import "context"

// Collect sends req and returns the answer, or the [*Error] that came instead.
// Whoever wants to see the answer grow ranges over Stream.
func Collect(ctx context.Context, m Model, req Request) (Answer, error) {
	for c, err := range m.Stream(ctx, req) {
		if err != nil {
			return Answer{}, err
		}
		if done, ok := c.(Done); ok {
			return done.Answer, nil
		}
	}
	return Answer{}, &Error{Kind: KindCut, Message: "the stream ended without an answer"}
}
