// Package metrics counts what a process of the fleet does, for Prometheus. Labels are of few
// values that nobody else chooses, so that no host can make as many series as it likes.
package metrics

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sfcore/sfcore/core"
)

// Outcome is what has become of a crash.
type Outcome string

// The outcomes at a worker.
const (
	Stored  Outcome = "stored"
	Counted Outcome = "counted"
	Again   Outcome = "again" // it was stored or counted before
	Dead    Outcome = "dead"
)

// Metrics are those of a process.
type Metrics struct {
	registry *prometheus.Registry
	crashes  *prometheus.CounterVec
	sent     *prometheus.CounterVec
	// Naming is how long it took to name the stacks of a report, in seconds, and
	// NamingFailed how often that failed.
	Naming       prometheus.Histogram
	NamingFailed prometheus.Counter
	// SymbolsOff is 1 while servers of symbols are not asked.
	SymbolsOff prometheus.Gauge
	// Retries is how often the database did not take crashes, which were tried again.
	Retries prometheus.Counter
	signals map[string]bool
}

// New returns metrics that are all 0.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		crashes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sfcore_fleet_crashes_total", Help: "Crashes that a worker has taken, by what has become of them and by signal.",
		}, []string{"outcome", "signal"}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sfcore_fleet_agent_crashes_total", Help: "Crashes that an agent has looked at, by what it has decided: whole, or counted.",
		}, []string{"decision"}),
		Naming: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sfcore_fleet_naming_seconds", Help: "How long it took to name the stacks of a report.",
			Buckets: prometheus.ExponentialBuckets(0.005, 4, 8),
		}),
		NamingFailed: prometheus.NewCounter(prometheus.CounterOpts{Name: "sfcore_fleet_naming_failures_total", Help: "Reports whose stacks could not be named."}),
		SymbolsOff:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "sfcore_fleet_symbols_breaker_open", Help: "1 while debuginfod servers are not asked, as they have failed."}),
		Retries:      prometheus.NewCounter(prometheus.CounterOpts{Name: "sfcore_fleet_database_retries_total", Help: "How often the database did not take crashes."}),
		signals:      map[string]bool{},
	}
	const last = 64
	for n := 1; n <= last; n++ {
		m.signals[core.SignalName(n)] = true
	}
	m.registry.MustRegister(m.crashes, m.sent, m.Naming, m.NamingFailed, m.SymbolsOff, m.Retries,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Crash counts crashes at a worker.
func (m *Metrics) Crash(outcome Outcome, signal string, number int) {
	if !m.signals[signal] {
		signal = "other"
	}
	m.crashes.WithLabelValues(string(outcome), strings.TrimPrefix(signal, "SIG")).Add(float64(number))
}

// Sent counts a crash at an agent.
func (m *Metrics) Sent(whole bool) {
	decision := "counted"
	if whole {
		decision = "whole"
	}
	m.sent.WithLabelValues(decision).Inc()
}

// Gauge shows a number that is asked for when the metrics are.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Handler answers with all of them.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
