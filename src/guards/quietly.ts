/** Ignores errors of code that only reports or traces: they must not affect a decision. */
export function quietly<Value>(does: () => Value): Value | undefined {
  try {
    return does()
  } catch {
    return undefined
  }
}
