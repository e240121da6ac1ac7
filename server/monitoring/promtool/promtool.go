//go:build tools

// Package promtool pins the version of promtool in go.mod.
package promtool

import _ "github.com/prometheus/prometheus/cmd/promtool"
