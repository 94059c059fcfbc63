# The formula of a tap. A release fills in the address and the checksum of its sdist;
# `brew update-python-resources tokctl` adds the packages that tokctl needs.
class Tokctl < Formula
  include Language::Python::Virtualenv

  desc "Train, run, inspect and compare subword tokenizers"
  url "ADDRESS OF THE SDIST"
  sha256 "ITS SHA-256"
  license "Apache-2.0"

  depends_on "rust" => :build
  depends_on "python@3.14"

  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"tokctl", "completion")
  end

  test do
    assert_match "unigram", shell_output("#{bin}/tokctl compare --vocab 1000")
  end
end
