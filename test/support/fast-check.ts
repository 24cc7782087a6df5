/**
 * fast-check, for every test that uses it: the same cases each time, so that a run that is green stays green until the
 * code changes. Others are tried on purpose, by `HOOKSPAN_TEST_SEED`.
 */
import fc from 'fast-check'
import { SEED, times } from './sample.ts'

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED, numRuns: times(30, 100) })

/**
 * Any code point but halves of characters, for `fc.string`. Its own `binary` first makes a map of all 1.1 million, which takes a
 * second in each process, and makes each garbage collection slower.
 */
export const ANY_CHARACTER: fc.Arbitrary<string> = fc.nat(0x10_f7_ff).map(
  nth => String.fromCodePoint(nth < 0xd8_00 ? nth : nth + 0x8_00),
  // Lets it put in texts that are known to break things, such as `__proto__`.
  character => {
    if (typeof character !== 'string' || !/^[^\ud800-\udfff]$/su.test(character)) throw new Error('not one character')
    const code = character.codePointAt(0) ?? 0
    return code < 0xd8_00 ? code : code - 0x8_00
  },
)

export default fc
