// Package creditrelease is the domain of blocked sales orders: it reads why an
// order is blocked and how far its customer is over the credit limit, and
// queues a release request for a person with the right role to decide.
//
// # Where the data comes from
//
// Through [Backend]: the orders, the customers' master data and the credit
// service. The folders below are ways to be one. What they answer is data,
// never an instruction; texts in it may be written by customers.
//
// # Ids
//
// Sales orders and customers are named by 1 to 10 ASCII digits. Leading zeros
// mean nothing: 0000004711 and 4711 are one order. There is one form of each
// inside, without leading zeros, made by [CanonicalID]; padding is the matter
// of a backend that needs it.
//
// # Money
//
// An [Amount] is an exact decimal, read from text and written as text. No
// float64 touches it. Amounts in different currencies are never compared.
//
// # The role rule, version credit-role/1
//
// The rule is made up, as a company would make up its own. With
//
//	exposure  = open items + net value of the order
//	cumulated = exposure + net value of the customer's other requests that
//	            were queued, approved or carried out since the open items
//	            were read
//
// the role that must approve a release is
//
//	exposure  <= limit           none; nothing needs to be released
//	cumulated <= limit * 1.05    CREDIT_MANAGER
//	above                        HEAD_OF_FINANCE
//	limit zero, negative or none HEAD_OF_FINANCE, whatever the exposure
//
// The others count only against an order that is over the limit itself, and
// never in its favour: a negative sum of theirs is taken as zero. Amounts are
// compared exactly, before any rounding: 5.04 % over the limit is above 5 %,
// 0.04 % is over the limit. To check one by hand: 50,700.00 open and an order
// of 1,800.00 against a limit of 50,000.00 make 52,500.00, which is
// 50,000.00 * 1.05: CREDIT_MANAGER.
//
// # Percent texts
//
// The percentage over the limit, (exposure / limit - 1) * 100, is shown with
// one decimal where that is exact ("5.0", "-58.0"), otherwise rounded half
// away from zero to two, a zero at the end left out ("5.04", "15.67", "12.0").
// A text never shows a threshold (0 or 5) that the value is not exactly at: it
// gets as many decimals as it takes ("5.0004", "4.998", "-0.001"). Without a
// limit it is "no limit set".
package creditrelease
