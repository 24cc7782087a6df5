import fc from './fast-check.ts'
import { IS_DEEP } from './sample.ts'

/** How long `npm test` tries a property. Where the machine is busy that makes fewer cases, and no failure. */
const TRIED_MILLIS = 20_000

/**
 * Asserts a property whose cases take time. The case that is under way when the time is over, or that fails, comes to
 * its end: none goes on beside the next test.
 */
export async function assertHolds<Value>(
  values: fc.Arbitrary<Value>,
  check: (value: Value) => Promise<void>,
  parameters: fc.Parameters<[Value]> = {},
): Promise<void> {
  let last: Promise<void> = Promise.resolve()
  const property = fc.asyncProperty(values, value => {
    last = check(value)
    return last
  })
  try {
    await fc.assert(property, { ...(IS_DEEP ? {} : { interruptAfterTimeLimit: TRIED_MILLIS }), ...parameters })
  } finally {
    await last.catch(() => undefined)
  }
}
