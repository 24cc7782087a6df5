import { testDelta } from '../prometheus/delta-tests.ts'
import { testShortLived } from '../prometheus/short-lived-tests.ts'
import { testWay } from '../prometheus/way-tests.ts'

testWay('collected')
testDelta('collected')
testShortLived('collected')
