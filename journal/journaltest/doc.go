// Package journaltest has a disk in memory that fails and crashes on demand.
//
// A [Disk] keeps, for each file, what a reader sees and what would be left
// after a power cut: bytes become durable by Sync and entries of directories by
// SyncDir, and by nothing else. [Disk.Fault] sees every call beforehand and can
// make it fail, stop short, lose data or be the last. [Disk.Crashes] then yields
// the disks that a machine could find after the cut, in which any unsynced
// sector and any unsynced entry may be there or not, and the size of a file is
// independent of its data.
//
// Without a Fault it is an ordinary disk in memory.
package journaltest
