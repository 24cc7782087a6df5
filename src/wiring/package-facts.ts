import { createRequire } from 'node:module'

const facts = createRequire(import.meta.url)('../../package.json') as { name: string; version: string }

export const PACKAGE_NAME: string = facts.name
export const PACKAGE_VERSION: string = facts.version
