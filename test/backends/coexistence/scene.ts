import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { Surroundings } from './application.ts'
import { type ApplicationFolder, installApplication, type Line } from './application-folder.ts'

/** What each test of an application has: the application, installed once, and surroundings of its own. */
export interface Scene {
  readonly line: Line
  readonly folder: ApplicationFolder
  readonly around: Surroundings
}

export function setScene(line: Line): Scene {
  const scene = { line } as { line: Line; folder: ApplicationFolder; around: Surroundings }
  beforeAll(() => {
    scene.folder = installApplication(line)
  })
  afterAll(() => scene.folder?.remove())
  beforeEach(async () => {
    scene.around = await Surroundings.start()
  })
  afterEach(() => scene.around.stop())
  return scene
}
