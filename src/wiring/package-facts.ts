import { createRequire } from 'node:module'

/** This copy of the package. What is published is bundled into `dist/chunks`, which is as deep as this file in `src`. */
export const PACKAGE_FOLDER: URL = new URL('../../', import.meta.url)

const facts = createRequire(import.meta.url)('../../package.json') as {
  name: string
  version: string
  engines: { node: string }
}

export const PACKAGE_NAME: string = facts.name
export const PACKAGE_VERSION: string = facts.version
/** Versions of Node that it runs on. */
export const NODE_RANGE: string = facts.engines.node
