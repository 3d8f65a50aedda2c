package workspace

import (
	"path/filepath"
	"testing"
)

// CORE-25, CORE-96: a credential is known by a whole word of its name.
func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"API_KEY": true, "BASIS_API_KEY": true, "VENDOR_API_KEY": true, "AWS_ACCESS_KEY_ID": true, "apiKey": true, "X-Api-Key": true, "KEY": true, "DEPLOY_KEYS": true,
		"GH_TOKEN": true, "GITHUBTOKEN": true, "npm_config_authToken": true, "TOKEN2": true, "API_TOKENS": true,
		"SECRET": true, "CLIENT_SECRET": true, "SECRET_KEY_BASE": true, "DB_PASSWORD": true, "DBPASSWORD": true, "SMTP_PASS": true, "PGPASSWORD": true, "PASSPHRASE": true,
		"GOOGLE_CREDENTIALS": true, "BASIC_AUTH": true, "AUTHORIZATION": true, "EXT_PAT": true,
		"AUTHOR_MODEL": false, "GIT_AUTHOR_NAME": false, "AUTHORITY": false, "MONKEY": false, "KEYBOARD_LAYOUT": false, "TURKEY_MODEL": false, "TOKENIZER": false,
		"COMPASS": false, "PATH": false, "PWD": false, "BYPASS": false, "HOME": false, "": false, "_": false, "MODEL": false,
		"SSL_KEY_FILE": false, "SSH_AUTH_SOCK": false, "SECRETS_DIR": false,
	} {
		if got := SecretName(name); got != want {
			t.Errorf("SecretName(%q) = %v, want %v", name, got, want)
		}
	}
}

// CORE-25: what only sounds like a credential may stand in a setting.
func TestSettingOfAnAuthor(t *testing.T) {
	dir := tempDir(t)
	write(t, filepath.Join(dir, "config.json"), `{"schema":1,"model":"${AUTHOR_MODEL}"}`)
	c, err := FindConfig(dir, "", func(string) (string, bool) { return "m", true })
	if err != nil || c.Model.Text != "m" {
		t.Errorf("FindConfig = %+v, %v, want the model m", c.Model, err)
	}
}
