import { join } from 'node:path'
import type { HostSetup } from './plan.ts'
import { folderFrom, pluginFileSetup } from './plugin-file.ts'

/** opencode loads each `.js` and `.ts` file of its folders `plugins`, as its documentation has it, and `plugin` (1.18.33). */
export const opencode: HostSetup = pluginFileSetup({
  name: 'opencode',
  title: 'opencode',
  // Not all that the module exports: opencode calls each export as a plugin.
  exported: 'HookspanPlugin',
  notes: ['opencode loads it when it starts the next time.'],
  places: surroundings => {
    const { home, env } = surroundings
    const config = join(folderFrom(env['XDG_CONFIG_HOME'], join(home, '.config'), surroundings), 'opencode')
    return ['plugins', 'plugin'].map(name => {
      const folder = join(config, name)
      return { file: join(folder, 'hookspan.js'), hostFolder: config, folders: [folder, config] }
    })
  },
})
