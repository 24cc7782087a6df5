/**
 * fast-check, for every test that uses it: the same cases each time, so that a run that is green stays green until the
 * code changes. Others are tried on purpose, by `HOOKSPAN_TEST_SEED`.
 */
import fc from 'fast-check'
import { SEED, times } from './sample.ts'

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED, numRuns: times(30, 100) })

export default fc
