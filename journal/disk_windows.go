package journal

import (
	"errors"

	"golang.org/x/sys/windows"
)

// openFilesPinDirs says that a directory with open files cannot be renamed.
const openFilesPinDirs = true

func isDiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// syncDir does nothing: directories cannot be synced here, and the file
// system journals its entries.
func syncDir(string) error { return nil }

func freeBytes(name string) (int64, error) {
	p, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(p, &free, nil, nil); err != nil {
		return 0, err
	}
	return int64(min(free, 1<<62)), nil
}

// isNetwork is not known here.
func isNetwork(string) (bool, error) { return false, nil }
