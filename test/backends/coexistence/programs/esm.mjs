import * as http from 'node:http'
import { createPlugin } from 'hookspan'
import scenario from './scenario.cjs'

await scenario.play({ createPlugin, loadHttp: () => http })
