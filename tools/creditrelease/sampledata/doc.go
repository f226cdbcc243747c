// Package sampledata is a backend of the domain without any system behind it:
// made-up data that comes with the program, or a user's own export. It plays
// the outside world: the orders, the customers, a credit service that can be
// flaky or down, and the register in which approved requests are created.
//
// # Sources
//
//	"" or "sample"   the embedded five orders and four customers
//	a file           a world in JSON
//	a folder         orders.csv and customers.csv
//
// A source is read once, whole, and checked whole before anything starts:
// either all of it is good, or the error names up to 20 bad rows with file and
// line. An order whose customer is missing is no error here; that order cannot
// be worked on, the others can. A file has at most 256 MiB, in UTF-8, with or
// without a byte order mark.
//
// # Fields
//
//	order      sales_order         1 to 10 digits, leading zeros mean nothing
//	           customer            the same
//	           net_value           amount
//	           blocked             true or false
//	           block_reason        text, at most 8,000 bytes
//	           currency            optional, three capital letters; EUR
//	           sales_organization  optional, 1 to 4 capital letters or digits; the file's
//	customer   customer            1 to 10 digits
//	           name, street, postal_code, city, country
//	                               text, at most 500 bytes; "" for a gap
//	           credit_limit        amount; zero says that no limit is set
//	           open_items          amount
//	           currency            optional, of limit and open items; EUR
//
// An optional field that is empty is as good as none. Names are as given here,
// in small letters. Other fields are skipped. The same number twice is an
// error. The sequence of the orders in the source is that of the worklist.
//
// # JSON
//
// One object with the arrays "orders" and "customers" and, optionally,
// "sales_organization" (1010), which holds for orders without their own. Ids
// are strings; amounts are numbers without exponent, or strings. Other keys
// are skipped, a field named twice is an error.
//
// # CSV
//
// The first line is the header; before it there may be, each in a line of its
// own,
//
//	sep=;           the separator, as the very first line
//	# decimal=,     the decimal mark: , or .
//	# ...           any other comment
//
// Without sep= the separator is the semicolon if the header has one, otherwise
// the comma. Fields may be quoted, and then hold separators, line breaks and
// doubled quotes; lines end in LF or CRLF. blocked is true or false in any
// letter case, or 1 or 0. There are no blanks around numbers.
//
// The decimal mark is the same in the whole file, and thousands marks are
// errors. If no line says which mark it is, the file's amounts must show it:
// "1800,00" and "0.125" can be read in one way only, and settle it for their
// file; if they contradict each other the file is refused. Amounts like
// "1.234" and "1,234", one to three digits and then exactly three, could be
// either, and settle nothing: a file with these and no others is refused with
// the line to add. A file of whole amounts needs no mark.
//
// # Requests
//
// [Register] keeps created requests in requests.jsonl, one JSON object a line,
// in the sequence of their numbers:
//
//	{"request":"REQ-0001","key":"r1/A1","sales_order":"4711",...}
//
// Several processes may use one register: who reads new lines or appends holds
// a lock on requests.lock, which the operating system frees when a process
// dies, however it dies. The lock file stays and must not be deleted. A line is
// on the disk before its receipt is given. A line that a crash left unfinished
// was never answered for and is cut off; any other line that does not fit is
// damage, and the register refuses to go on.
package sampledata
