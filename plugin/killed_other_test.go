//go:build !linux

package plugin

const hostEnv = "SFCORE_TEST_HOST"

func hostToBeKilled() {}
