'use strict';
// What stands around the repository's own files: settings, search paths and dependencies. All of it comes
// from the caller; no file of the repository is read as configuration and no interpreter is asked.

const fs = require('fs');
const path = require('path');

const PYTHON_PLATFORM = 'Linux';
const PYTHON_FILE = /\.pyi?$/;

class BadSurroundings extends Error {}

// Every Python file below the root, sorted; links are not followed.
function pythonFiles(root) {
  const found = [];
  const folders = [root];
  while (folders.length > 0) {
    const folder = folders.pop();
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const full = path.join(folder, entry.name);
      if (entry.isDirectory()) {
        folders.push(full);
      } else if (entry.isFile() && PYTHON_FILE.test(entry.name)) {
        found.push(full);
      }
    }
  }
  return found.sort();
}

class SitePackagesHost {
  constructor(bundle, sitePackages) {
    this.kind = new bundle.host.NoAccessHost().kind;
    this.sitePackages = sitePackages;
  }

  getPythonSearchPaths() {
    return { paths: this.sitePackages ? [this.sitePackages] : [], prefix: '' };
  }

  getPythonVersion() {
    return undefined;
  }

  getPythonPlatform() {
    return undefined;
  }
}

// Which distribution a module of the dependencies belongs to, from the metadata that installers leave.
class InstalledPackages {
  constructor(sitePackages) {
    this.byModule = new Map();
    this.byName = new Map();
    for (const folder of sitePackages ? fs.readdirSync(sitePackages).sort() : []) {
      if (folder.endsWith('.dist-info')) {
        this.add(path.join(sitePackages, folder));
      }
    }
  }

  add(distInfo) {
    const metadata = path.join(distInfo, 'METADATA');
    const record = path.join(distInfo, 'RECORD');
    if (!fs.existsSync(metadata) || !fs.existsSync(record)) {
      return;
    }
    const header = fs.readFileSync(metadata, 'utf8').split(/\r?\n\r?\n/, 1)[0];
    const field = (name) => (header.match(new RegExp(`^${name}:\\s*(.+?)\\s*$`, 'm')) || [])[1];
    const installed = { name: field('Name') || '', version: field('Version') || '', files: [] };
    this.byName.set(installed.name.toLowerCase(), installed);
    for (const line of fs.readFileSync(record, 'utf8').split(/\r?\n/)) {
      const file = line.split(',', 1)[0];
      if (PYTHON_FILE.test(file) && !file.startsWith('..')) {
        const module = file.replace(PYTHON_FILE, '').replace(/\/__init__$/, '').replaceAll('/', '.');
        this.byModule.set(module, installed);
      }
    }
  }

  getPackageForModule(moduleName) {
    return this.byModule.get(moduleName);
  }

  guessPackage(moduleName) {
    return this.byName.get(moduleName.split('.')[0].toLowerCase());
  }
}

// settings: {root, python_version, search_roots, site_packages, project_name, project_version}
function surroundings(bundle, settings) {
  const root = fs.realpathSync(settings.root);
  const sitePackages = settings.site_packages ? fs.realpathSync(settings.site_packages) : undefined;
  const fileSystem = new bundle.pyrightFileSystem.PyrightFileSystem(bundle.realFileSystem.createFromRealFileSystem());
  if (!bundle.pathUtils.isFileSystemCaseSensitive(fileSystem)) {
    throw new BadSurroundings(
      `the temporary folder ${fileSystem.tmpdir()} can't be written or ignores case: ` +
        'indexing needs a folder that tells a from A; set TMPDIR to one'
    );
  }
  const version = bundle.pythonVersion.versionFromString(settings.python_version);
  if (version === undefined) {
    throw new BadSurroundings(`Python ${settings.python_version} is not known to scip-python ${bundle.version}: name 3.0 to 3.12`);
  }
  const host = new SitePackagesHost(bundle, sitePackages);
  const options = new bundle.configOptions.ConfigOptions(root, 'basic');
  const declared = { pythonVersion: settings.python_version, pythonPlatform: PYTHON_PLATFORM, extraPaths: settings.search_roots };
  options.initializeFromJson(declared, 'basic', new bundle.console.NullConsole(), fileSystem, host);
  options.stubPath = path.join(root, 'typings');
  options.typeshedPath = bundle.pythonPathUtils.getTypeShedFallbackPath(fileSystem);
  options.autoExcludeVenv = false;
  options.checkOnlyOpenFiles = false;
  options.indexing = true;
  options.useLibraryCodeForTypes = true;
  const scipConfig = {
    projectRoot: root,
    projectName: settings.project_name,
    projectVersion: settings.project_version,
    dev: false,
    quiet: true,
  };
  return { root, sitePackages, fileSystem, host, options, scipConfig, packages: new InstalledPackages(sitePackages) };
}

module.exports = { BadSurroundings, pythonFiles, surroundings };
