// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import "time"

// Period is how long a window of a budget is.
type Period string

// The periods, as calendars count them: an hour from its full hour on, a day from midnight on, a month from its first
// midnight on, all in the budget's time zone.
const (
	Hour  Period = "Hour"
	Day   Period = "Day"
	Month Period = "Month"
)

// Window is the window that a moment is in: from start on, and before end. Windows of one period and zone follow each other
// without a gap. A day may have 23 or 25 hours.
func (p Period) Window(at time.Time, zone *time.Location) (start, end time.Time) {
	if p == Hour {
		_, offset := at.In(zone).Zone()
		local := at.Unix() + int64(offset)
		into := local % 3600
		if into < 0 {
			into += 3600
		}
		start = time.Unix(at.Unix()-into, 0).In(zone)
		return start, start.Add(time.Hour)
	}
	local := at.In(zone)
	n := 0
	// A midnight that a zone has twice can be put too late: then the window before is the one.
	for range 3 {
		start, end = p.nth(local, n), p.nth(local, n+1)
		switch {
		case at.Before(start):
			n--
		case !at.Before(end):
			n++
		default:
			return start, end
		}
	}
	return start, end
}

// nth is the start of the window n after that of a date. A zone that skips the midnight begins its day an hour later.
func (p Period) nth(local time.Time, n int) time.Time {
	year, month, day := local.Date()
	if p == Month {
		month, day = month+time.Month(n), 1
	} else {
		day += n
	}
	start := time.Date(year, month, day, 0, 0, 0, 0, local.Location())
	if noon := time.Date(year, month, day, 12, 0, 0, 0, local.Location()); noon.Day() != start.Day() {
		start = start.Add(time.Hour)
	}
	return start
}
