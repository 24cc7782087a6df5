import { dirname, join } from 'node:path'
import type { HostSetup } from './plan.ts'
import { folderFrom, pluginFileSetup } from './plugin-file.ts'

/** Pi loads each `.js` and `.ts` file of its folder `extensions` (read from 0.87.1). */
export const pi: HostSetup = pluginFileSetup({
  name: 'pi',
  title: 'Pi',
  exported: 'default',
  notes: [
    'Pi loads it when it starts the next time, a running one after /reload.',
    'Pi can do the same by itself: pi install npm:hookspan. One of the two is enough.',
  ],
  places: surroundings => {
    const own = surroundings.env['PI_CODING_AGENT_DIR']
    const agent = folderFrom(own, join(surroundings.home, '.pi', 'agent'), surroundings)
    const extensions = join(agent, 'extensions')
    const folders = own === undefined ? [extensions, agent, dirname(agent)] : [extensions]
    return [{ file: join(extensions, 'hookspan.js'), hostFolder: agent, folders }]
  },
})
