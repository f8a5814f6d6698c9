function build(prefix, folder)
%BUILD  Compile the gateways to hetsched for this Octave or MATLAB.
%   BUILD finds the C library in ~/.local. BUILD(PREFIX) finds it where `cmake --install ... --prefix` has put it.
%   BUILD(PREFIX, FOLDER) puts the gateways, and their help, into FOLDER; without it they come to stand beside this file.
%   An empty PREFIX is as none.
  here = fileparts(mfilename('fullpath'));
  if nargin < 1 || isempty(prefix)
    prefix = fullfile(getenv('HOME'), '.local');
  end
  if nargin < 2
    folder = here;
  end
  include = fullfile(prefix, 'include');
  libraries = {'lib', 'lib64', fullfile('lib', 'x86_64-linux-gnu'), fullfile('lib', 'aarch64-linux-gnu')};
  names = {'libhetsched.so', 'libhetsched.dylib'};
  library = '';
  for i = 1:numel(libraries)
    for j = 1:numel(names)
      if isempty(library) && exist(fullfile(prefix, libraries{i}, names{j}), 'file')
        library = fullfile(prefix, libraries{i});
      end
    end
  end
  if isempty(library) || ~exist(fullfile(include, 'hetsched.h'), 'file')
    error('hetsched:notInstalled', 'no C library of hetsched in %s: install it first, see README.md', prefix);
  end
  gateways = {'hs_mtimes', 'hs_mldivide', 'hs_chol', 'hs_lu', 'hs_partition', 'hs_distribute'};
  for i = 1:numel(gateways)
    source = fullfile(here, [gateways{i} '.c']);
    target = fullfile(folder, [gateways{i} '.' mexext()]);
    rpath = ['-Wl,-rpath,' library]; % found at run time without LD_LIBRARY_PATH
    if exist('OCTAVE_VERSION', 'builtin')
      [printed, failed] = mkoctfile('--mex', '-Wall', ['-I' include], source, '-o', target, ['-L' library], '-lhetsched', rpath);
      if failed
        error('hetsched:notBuilt', '%s does not compile:\n%s', gateways{i}, printed);
      end
    else
      mex('-R2017b', '-silent', ['-I' include], source, '-output', target, ['-L' library], '-lhetsched', ...
          ['LDFLAGS=$LDFLAGS ' rpath]);
    end
    if ~strcmp(folder, here) % a file of the same name elsewhere on the path would hide the gateway
      copyfile(fullfile(here, [gateways{i} '.m']), folder);
    end
  end
end
