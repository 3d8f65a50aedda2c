package basis

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/basisagent/basis/provider/providertest"
)

// JRN-52, JRN-53: a command that outlives its killed driver does not keep the
// task locked.
func TestCommandDoesNotInheritTheLock(t *testing.T) {
	s := providertest.Script(t, providertest.CallTool("spawn", `{"input":"!echo $$ > pid.tmp; mv pid.tmp pid; sleep 300"}`), providertest.Text("went on"))
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	cmd, _ := driver(t, h, ref)
	ctx := limited(t)
	var pid int
	for range time.Tick(time.Millisecond) {
		if data, err := os.ReadFile(filepath.Join(ws, "pid")); err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the command never began")
		}
	}
	defer func() { _ = unix.Kill(-pid, unix.SIGKILL) }() // it may be gone with its driver
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if h.Held(ref) {
		t.Error("the task is held after its driver was killed")
	}
	out, err := h.Wait(limited(t), ref, Drive{})
	if got := h.ended(t, out, err); got.Result != "went on" {
		t.Errorf("Wait = %+v, want it to go on", got)
	}
	sound(t, h, ref)
}
