/** The reserved words of CEL, which name no field in an expression. */
const reserved =
  /^(?:as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void|while)$/;

/** True if a field can stand in an expression by its name. */
export function isCelName(field: string): boolean {
  return /^[A-Za-z_]\w*$/.test(field) && !reserved.test(field);
}
