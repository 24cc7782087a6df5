import { testDelta } from './delta-tests.ts'
import { testShortLived } from './short-lived-tests.ts'
import { testWay } from './way-tests.ts'

testWay('scraped')
testWay('pushed')
testDelta('pushed')
testShortLived('pushed')
