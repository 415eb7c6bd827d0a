// Writes the golden table of tests/it/calendar/golden.tsv: what robfig/cron itself says, v3 for Kubernetes and Velero, v1 for CNPG.
//
//	cd lab/calendar-golden && go run . > ../../tests/it/calendar/golden.tsv
//
// A row: dialect, zone, expression, from (RFC 3339), then the next three runs, or "never", or "refused". The last column is "slip" where
// robfig's own walk leaves out or makes up a run in the hour of a clock change: there the runs are those of a walk second by second,
// which is what robfig's answer is held against in every row.
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"time"
	_ "time/tzdata"

	v1 "github.com/robfig/cron"
	v3 "github.com/robfig/cron/v3"
)

const runs = 3

// Walks further than this are not made: what robfig says of the far future is taken as it is.
const walk = 120 * 24 * time.Hour

// The same where no clock changes.
const quiet = 48 * time.Hour

type schedule interface{ Next(time.Time) time.Time }

var zones = []string{"UTC", "UTC", "Europe/Berlin", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Tokyo", "Australia/Lord_Howe", "America/Santiago", "Pacific/Auckland"}

// Hand-made expressions of five fields: corners of the parser, of days, of clock changes.
var five = []string{
	"* * * * *", "0 3 * * *", "30 2 * * *", "*/30 * * * *", "0 */6 * * *", "15 1-3 * * *", "0 0 1 * *", "0 0 31 * *", "0 0 29 2 *",
	"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 13 * 5", "0 0 13 * *", "0 0 * * 5", "0 0 */2 * 1", "0 0 */1 * 1", "0 0 ? * 1", "0 0 1 * ?",
	"0 0 1-31 * 1", "0 0 * * 0-6", "0 0 1 * 0-6", "0 0 */90 * *", "0 12 * * 1-5", "0 12 * * MON-FRI", "0 12 * jan,JUL Sun", "5/15 * * * *",
	"0 22-23 * * *", "59 23 31 12 *", "0 0 1 1 *", "0,15,30,45 8-18 * * 1-5", "10-20/5 * * * *", "0 2 * * 0", "0 1 * * 0", "30 1 * * *",
	"0 0 * * 7", "60 * * * *", "* 24 * * *", "0 0 0 * *", "0 0 32 * *", "0 0 * 13 *", "5-1 * * * *", "*/0 * * * *", "1-2-3 * * * *", "1/2/3 * * * *",
	"a * * * *", "-1 * * * *", "* * * *", "* * * * * *", "0 0 * * mon-", "0 0 * * sunday", "+5 * * * *", "*-5 * * * *", ", * * * *", "1,,2 * * * *",
	"0 0 L * *", "0 0 15W * *", "0 0 * * 5#2", "0 0 1,15 * 1,3", "07 08 09 10 *", "*/7 */5 */3 */2 */4",
}

var words = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every 1h30m", "@every 12h", "@every 90s",
	"@every 500ms", "@every 1.5h", "@every -5m", "@every 1h1ns", "@every 24", "@every 1 h", "@every 1hour", "@every ", "@every .5h", "@every 1.h", "@daily ", " @daily", "@Daily", "@reboot", "@"}

func list(r *rand.Rand, min, max int) string {
	part := func() string {
		a := min + r.Intn(max-min+1)
		switch r.Intn(6) {
		case 0:
			return fmt.Sprintf("%d-%d", a, a+r.Intn(max-a+1))
		case 1:
			return fmt.Sprintf("%d/%d", a, 1+r.Intn(max))
		case 2:
			return fmt.Sprintf("%d-%d/%d", min, a, 1+r.Intn(5))
		default:
			return fmt.Sprint(a)
		}
	}
	switch r.Intn(10) {
	case 0, 1, 2, 3:
		return "*"
	case 4:
		return fmt.Sprintf("*/%d", 1+r.Intn(max))
	case 5:
		return part() + "," + part()
	default:
		return part()
	}
}

func random(r *rand.Rand) string {
	return strings.Join([]string{list(r, 0, 59), list(r, 0, 23), list(r, 1, 31), list(r, 1, 12), list(r, 0, 6)}, " ")
}

// Moments around clock changes of the zones above, ends of months and years, and any other.
func from(r *rand.Rand) time.Time {
	near := []string{"2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z", "2026-03-08T06:00:00Z", "2026-11-01T05:00:00Z", "2026-04-04T14:00:00Z",
		"2026-10-03T15:00:00Z", "2026-04-05T03:00:00Z", "2026-09-06T03:00:00Z", "2026-02-28T23:00:00Z", "2026-12-31T23:00:00Z", "2027-12-31T12:00:00Z"}
	if r.Intn(2) == 0 {
		t, _ := time.Parse(time.RFC3339, near[r.Intn(len(near))])
		return t.Add(time.Duration(r.Intn(6*3600)-3*3600) * time.Second)
	}
	return time.Date(2026, 1, 1, 0, 0, r.Intn(2*365*24*3600), 0, time.UTC)
}

func parse(dialect, zone, text string) (s schedule, err error) {
	defer func() {
		if broke := recover(); broke != nil {
			err = fmt.Errorf("%v", broke)
		}
	}()
	switch dialect {
	case "cnpg":
		return v1.Parse(text)
	case "cronjob":
		return v3.ParseStandard("TZ=" + zone + " " + text)
	default:
		return v3.ParseStandard(text)
	}
}

func matches(s schedule, t time.Time) bool {
	const star = uint64(1) << 63
	var sec, min, hour, dom, month, dow uint64
	switch s := s.(type) {
	case *v3.SpecSchedule:
		sec, min, hour, dom, month, dow = s.Second, s.Minute, s.Hour, s.Dom, s.Month, s.Dow
		if s.Location != time.Local {
			t = t.In(s.Location)
		}
	case *v1.SpecSchedule:
		sec, min, hour, dom, month, dow = s.Second, s.Minute, s.Hour, s.Dom, s.Month, s.Dow
	}
	is := func(bits uint64, value int) bool { return bits>>uint(value)&1 == 1 }
	byMonth, byWeek := is(dom, t.Day()), is(dow, int(t.Weekday()))
	day := byMonth || byWeek
	if dom&star != 0 || dow&star != 0 {
		day = byMonth && byWeek
	}
	return is(sec, t.Second()) && is(min, t.Minute()) && is(hour, t.Hour()) && is(month, int(t.Month())) && day
}

// The first match after t, second by second; whole minutes at a time where the schedule has no seconds of its own.
func walked(s schedule, t, end time.Time) (time.Time, bool) {
	step := time.Second
	switch s := s.(type) {
	case *v3.SpecSchedule:
		if s.Second == 1 {
			step = time.Minute
		}
	case *v1.SpecSchedule:
		if s.Second == 1 {
			step = time.Minute
		}
	}
	t = t.Truncate(step).Add(step)
	for ; !t.After(end); t = t.Add(step) {
		if matches(s, t) {
			return t, true
		}
	}
	return t, false
}

func row(out *bufio.Writer, dialect, zone, text string, at time.Time) {
	fmt.Fprintf(out, "%s\t%s\t%s\t%s", dialect, zone, text, at.UTC().Format(time.RFC3339))
	s, err := parse(dialect, zone, text)
	if err != nil {
		fmt.Fprintln(out, "\trefused\t")
		return
	}
	limit, slip := walk, ""
	if zone == "UTC" && !strings.Contains(text, "TZ=") {
		limit = quiet
	}
	for i := 0; i < runs; i++ {
		next := s.Next(at)
		if next.IsZero() {
			fmt.Fprint(out, "\tnever")
			break
		}
		if !isDelay(s) && next.Sub(at) <= limit {
			if real, found := walked(s, at, at.Add(limit)); found && !real.Equal(next) {
				next, slip = real, "slip"
			}
		}
		fmt.Fprintf(out, "\t%s", next.UTC().Format(time.RFC3339))
		at = next
	}
	fmt.Fprintf(out, "\t%s\n", slip)
}

func isDelay(s schedule) bool {
	switch s.(type) {
	case v3.ConstantDelaySchedule, v1.ConstantDelaySchedule:
		return true
	}
	return false
}

func main() {
	time.Local = time.UTC
	r := rand.New(rand.NewSource(20261130))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	seconds := []string{"0", "0", "0", "0", "30", "*/20", "5,55", "*"}
	for _, text := range append(append([]string{}, five...), words...) {
		for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York"} {
			row(out, "cronjob", zone, text, from(r))
		}
		row(out, "velero", "UTC", text, from(r))
		row(out, "velero", "UTC", "CRON_TZ=Asia/Tokyo "+text, from(r))
		row(out, "cnpg", "UTC", text, from(r))
		row(out, "cnpg", "UTC", "0 "+text, from(r))
	}
	for _, text := range []string{"TZ=UTC 0 3 * * *", "CRON_TZ= 0 3 * * *", "CRON_TZ=Nowhere/Land 0 3 * * *", "CRON_TZ=UTC", "CRON_TZ=UTC   @daily", "", " "} {
		row(out, "velero", "UTC", text, from(r))
		row(out, "cnpg", "UTC", text, from(r))
	}
	for i := 0; i < 2400; i++ {
		row(out, "cronjob", zones[r.Intn(len(zones))], random(r), from(r))
	}
	for i := 0; i < 400; i++ {
		row(out, "velero", "UTC", "CRON_TZ="+zones[r.Intn(len(zones))]+" "+random(r), from(r))
	}
	for i := 0; i < 1200; i++ {
		row(out, "cnpg", "UTC", seconds[r.Intn(len(seconds))]+" "+random(r), from(r))
	}
	for i := 0; i < 200; i++ {
		row(out, "cnpg", "UTC", random(r), from(r))
	}
}
