// Package provider is one streaming contract for every model vendor.
package provider
