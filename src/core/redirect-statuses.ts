/** The statuses of an answer that asks for another request (RFC 9110, 15.4). */
export const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308];
