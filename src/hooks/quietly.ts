/** Does what is only for the person or the trace: that it fails changes nothing. */
export function quietly<Value>(does: () => Value): Value | undefined {
  try {
    return does()
  } catch {
    return undefined
  }
}
