% What the scripts begin with: a check prints its name and whether it holds; `refused` wants an error with an id and a word.
1;
function check(name, holds), printf('check\t%s\t%d\n', name, all(holds(:))); end
function refused(name, id, word, f)
  found = 'none'; said = '';
  try, f(); catch e, found = e.identifier; said = e.message; end
  holds = strcmp(found, ['hetsched:' id]) && ~isempty(strfind(said, word));
  printf('check\t%s: %s (%s: %s)\t%d\n', name, id, found, strrep(said, "\n", ' '), holds);
end
function x = make(m, n, kind)
  x = randn(m, n);
  if any(kind == 'c'), x = complex(x, randn(m, n)); end
  if any(kind == 's'), x = single(x); end
end
function y = near(x, right, factor) % the same class and size, and the difference is rounding
  y = strcmp(class(x), class(right)) && isequal(size(x), size(right)) ...
      && norm(x - right, 1) <= factor * eps(class(right)) * (1 + norm(right, 1));
end
function y = applied(x, op)
  switch op, case 'n', y = x; case 't', y = x.'; case 'c', y = x'; end
end
function id = warned(f), lastwarn('', ''); f(); [~, id] = lastwarn(); end
rand('seed', 1); randn('seed', 1);
kinds = {'d', 's', 'dc', 'sc'};
