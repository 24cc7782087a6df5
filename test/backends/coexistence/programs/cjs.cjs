const { createPlugin } = require('hookspan')
const { play } = require('./scenario.cjs')

// Where it is wanted, as any module of an application does that is loaded later: only then can it be instrumented.
void play({ createPlugin, loadHttp: () => require('node:http') })
