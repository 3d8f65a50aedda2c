package journal

import (
	"testing"

	"golang.org/x/sys/unix"
)

// JRN-55: network file systems are told by their type.
func TestNetworkType(t *testing.T) {
	for magic, want := range map[int64]bool{
		unix.NFS_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.CEPH_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true,
		unix.EXT4_SUPER_MAGIC: false, unix.TMPFS_MAGIC: false, unix.BTRFS_SUPER_MAGIC: false, unix.OVERLAYFS_SUPER_MAGIC: false,
	} {
		if got := networkType(magic); got != want {
			t.Errorf("networkType(%#x) = %v, want %v", magic, got, want)
		}
	}
	if free, err := freeBytes(t.TempDir()); err != nil || free <= 0 {
		t.Errorf("freeBytes = %d, %v, want some", free, err)
	}
}
