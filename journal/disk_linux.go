package journal

import (
	"math"
	"math/bits"

	"golang.org/x/sys/unix"
)

func freeBytes(name string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(st.Bavail, uint64(st.Bsize))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64, nil
	}
	return int64(lo), nil
}

// isNetwork knows network file systems by the magic number of statfs(2).
func isNetwork(name string) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return false, err
	}
	return networkType(st.Type), nil
}

// networkType says whether a statfs type, of whatever width the processor
// gives it, is a network file system.
func networkType[T int32 | uint32 | int64](magic T) bool {
	switch uint32(magic) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC,
		unix.V9FS_MAGIC, unix.NCP_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC:
		return true
	}
	return false
}
