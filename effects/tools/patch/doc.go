// Package patch replaces passages of a file's bytes by others.
//
// Each Edit names the old text and the new. All edits are matched against the
// bytes as they were, not one after the other, and either all are made or none.
//
// An exact match counts first, and it must be the only one unless all are
// wanted. For matching, a line that ends in CRLF and one that ends in LF are
// alike, and a byte-order mark at the start of the file is not part of its text.
// If a text is found nowhere, whole lines are compared leniently: compatibility
// forms (NFKC), the shapes of quotation marks and dashes and white space at the
// end of a line make no difference. A lenient match must be the only one, always.
//
// What it promises: bytes outside the matched passages are never changed, and
// neither are the parts of a passage in which old and new text agree. A new
// line break takes the form of the one it replaces, or of the nearest one. The
// new text is written as it is; nothing in it is expanded. The text need not be
// valid UTF-8.
package patch
