package workspace

import (
	"slices"
	"strings"
)

// SecretName reports whether a variable has the name of a credential. It is judged
// by whole words, so that AUTHOR_MODEL and MONKEY are none: API_KEY, NPM_TOKEN and
// DBPASSWORD are, KEY_FILE and SSH_AUTH_SOCK only say where one is.
func SecretName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 || slices.Contains([]string{"file", "path", "dir", "sock"}, words[len(words)-1]) {
		return false
	}
	return slices.ContainsFunc(words, secretWord)
}

// secretWord reports whether a word of a name, in small letters, speaks of a
// credential, also where it is written together with another one.
func secretWord(word string) bool {
	if slices.Contains([]string{"key", "keys", "auth", "authorization", "pass", "pat", "creds"}, word) {
		return true
	}
	word = strings.TrimRight(word, "s0123456789")
	return slices.ContainsFunc([]string{"token", "secret", "passwd", "password", "passphrase", "credential", "apikey", "accesskey", "privatekey", "secretkey"},
		func(end string) bool { return strings.HasSuffix(word, end) })
}
